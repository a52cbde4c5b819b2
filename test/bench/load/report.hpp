#pragma once

#include "jsonrpc/json.hpp"
#include "load/load_run.hpp"
#include "load/verdict.hpp"

#include <cstdint>
#include <ostream>
#include <string>

namespace cmcp::load {

json::object report_json(const load_options& options, const load_result& result, const std::vector<verdict>& verdicts);
void print_report(std::ostream& to, const load_options& options, const load_result& result);
void print_tick(std::ostream& to, const load_run& running);

/// The derived figures that both reports show.
struct summary {
    summary(const load_options& options, const load_result& result);

    double calls_per_second = 0;
    double cpu_us_per_call = 0;    ///< of the server; 0: unknown
    double bytes_per_session = 0;  ///< of the server's own memory; 0: unknown
};

double calls_a_second(const server_figures& calls, double seconds);  ///< of those that succeeded in time

std::string fixed(double value, int digits);
std::string duration_text(std::int64_t nanoseconds);  ///< "340 us", "12.31 ms", "1.20 s"

}  // namespace cmcp::load
