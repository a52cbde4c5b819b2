#pragma once

#include "mcp/kept_calls.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

namespace cmcp {

/// The calls with an Idempotency-Key that a sandbox keeps, in the folder `calls` beside its files, which its programs
/// do not see: `<digest of the key>.began` from before it begins, then `<digest>.ended`; a loss of power leaves both.
/// Safe to use from several threads, but for the same key. Blocks on the disk; all throw
/// std::system_error.
class call_records {
public:
    static constexpr std::chrono::minutes kept_for{10};      ///< after the end
    static constexpr std::chrono::hours begun_kept_for{24};  ///< of those whose end was never noted
    static constexpr std::size_t most_calls = 1000;
    static constexpr std::size_t most_bytes = 8 << 20;  ///< results that would be more are not kept
    static constexpr const char* folder_name = "calls";

    explicit call_records(const std::filesystem::path& folder_of_sandbox) : folder_(folder_of_sandbox / folder_name) {}

    kept_calls::known begin(const named_call& which) const;
    void end(const named_call& which, const kept_calls::kept_result& result) const;
    void forget(const named_call& which) const;  ///< one that has begun

    /// Copies them into the folder, which is there and empty. A call that has ended since `when` has only begun there:
    /// what it did may not be in files that are copied since then.
    void copy(const std::filesystem::path& into, std::chrono::system_clock::time_point when) const;

private:
    std::filesystem::path file_of(const named_call& which, const char* end) const;

    std::filesystem::path folder_;
};

}  // namespace cmcp
