#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// Why a run ended.
enum class cause {
    exited,
    signalled,
    timeout,
    cpu_limit,
    memory_limit,
    process_limit,
    file_size_limit,
    output_limit,
    denied_syscall,
    cancelled,
    setup_failed,
    lost,  ///< with the launcher
};

inline constexpr std::string_view cause_names[] = {
    "exited",          "signalled",    "timeout",        "cpu_limit", "memory_limit", "process_limit",
    "file_size_limit", "output_limit", "denied_syscall", "cancelled", "setup_failed", "lost",
};
constexpr std::string_view to_string(cause c) { return cause_names[static_cast<std::size_t>(c)]; }

/// The processes of a run's session that are there when it ends.
struct left_processes {
    std::uint64_t hung_up = 0;  ///< those that still have the run's output
    std::uint64_t others = 0;   ///< live on
};

struct run_result {
    cause why = cause::setup_failed;
    int exit_code = -1;               ///< as a shell reports it: 128 + signal when a signal ended it
    int signal = 0;                   ///< 0: none
    std::string error;                ///< setup_failed: which step failed and what to do; lost: how it was lost
    std::string detail;               ///< a sentence that says what was exceeded, where `why` alone does not
    std::vector<std::string> denied;  ///< system calls, paths or destinations that were refused, where known
    std::chrono::microseconds wall{0};
    std::chrono::microseconds cpu{0};
    std::uint64_t peak_memory = 0;    ///< bytes; of the largest process where only that is known
    bool prepared = false;            ///< a zygote's child ran it, not a program started for it
    bool waited = false;              ///< it was confined before it was asked for
    std::uint64_t cell = 0;           ///< of its lasting cell, grows where that of before lost something; 0: its own
    left_processes left{};            ///< in a lasting cell
    bool no_room = false;             ///< setup_failed: as many lasting cells live as may, and none is empty
    std::uint64_t live_at_limit = 0;  ///< processes of the cell once its limit refused one; 0: it refused none
    std::string result;               ///< what was written to the result channel
};

}  // namespace cmcp::sandbox
