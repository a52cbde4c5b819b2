#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::engine {

/// The end of a run, written by the shell of its container. Code inside can write a report, too, so a report only tells
/// the caller about its own run and decides nothing else.
struct container_report {
    std::optional<int> code;  ///< nothing: the shell did not live to write it
    std::string lacks;        ///< the layer for whose lack nothing was started; empty: it was
    bool out_of_memory = false;
    bool out_of_processes = false;
    std::uint64_t peak_memory = 0;  ///< bytes; 0: unknown
    std::chrono::microseconds cpu{0};
};

container_report read_report(std::string_view text);

}  // namespace cmcp::engine
