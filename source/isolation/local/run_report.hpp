#pragma once

#include "local/denial.hpp"
#include "local/file_rules.hpp"
#include "local/local_policy.hpp"
#include "wire/run_result.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// How a run of `container-mcp run` ended, for people and for programs.
struct local_end {
    cause why = cause::exited;
    int exit_code = 0;
    int signal = 0;
    std::vector<denial> denied;
    std::vector<std::string> notes;
    std::chrono::milliseconds wall{0};
};

/// One line of JSON.
std::string json_line(const local_end& end);

/// A line for people about the most telling refusal, without a line end; empty: nothing was refused.
std::string advice(const std::vector<denial>& denied, const std::string& home);

/// The policy with what was refused allowed, but for secrets. Files are named by their folders where those hold
/// several.
local_policy learned(local_policy policy, const std::vector<denial>& denied, const std::string& home);

/// Whether the path is one of secret_paths() or below one.
bool is_secret(const std::string& path, const std::string& home);

}  // namespace cmcp::sandbox
