#pragma once

#include "jsonrpc/json.hpp"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace cmcp::load {

/// A figure of this test beside the same of earlier ones.
struct comparison {
    enum class outcome { same, better, worse, unknown };

    std::string figure;  ///< "calls/s", "p99", "create p50"
    double before = 0;   ///< of the earlier test that comes nearest; microseconds, or calls a second
    double after = 0;
    double change = 0;  ///< share of `before`, above 0: more
    double noise = 0;   ///< share that a change needs to be more than chance
    outcome is = outcome::unknown;
};

/// Compares reports as report_json() writes them. The noise is what the seconds of the tests differ by; a test that is
/// slower than each of several earlier ones is slower. Throws std::invalid_argument where an earlier report is of
/// another test.
std::vector<comparison> compare(const json::object& now, const std::vector<json::object>& earlier);

json::object read_report(const std::filesystem::path& file);  ///< throws std::invalid_argument
std::string words_of(const comparison& each);                 ///< one line
bool any_worse(const std::vector<comparison>& all);

}  // namespace cmcp::load
