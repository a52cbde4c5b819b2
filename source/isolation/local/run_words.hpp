#pragma once

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The words behind `container-mcp run`.
struct run_words {
    std::string policy_file;         ///< empty: the usual policy
    std::vector<std::string> hosts;  ///< --net
    std::vector<std::string> read, write;
    std::chrono::milliseconds timeout{0};  ///< 0: none
    bool learn = false, json = false, help = false;
    std::vector<std::string> argv;
};

/// A command line that cannot be understood.
struct bad_words : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An option of `container-mcp run`; `value` is null for a flag.
struct run_option {
    const char* name;
    const char* value;
    const char* about;
};
extern const std::span<const run_option> run_options;

std::string run_help();
run_words parse_run_words(const std::vector<std::string>& words);  ///< throws bad_words

}  // namespace cmcp::sandbox
