#pragma once

#include <cstdint>

/// The packet that the launcher sends to a program that is held before its main(): held_start, then, each ended by a
/// zero byte, the working folder (empty: stay), the arguments after argv[0], and the environment (NAME=value). With it
/// come descriptors: output, error, [input], [script], [result].
namespace cmcp::sandbox {

struct held_start {
    std::uint32_t arguments;  ///< without argv[0]; as many as the program was executed with
    std::uint32_t variables;
    std::uint64_t cpu_seconds;  ///< RLIMIT_CPU
    std::uint64_t file_size;    ///< RLIMIT_FSIZE
    bool has_input, has_script, has_result;
};

inline constexpr int held_library_descriptor = 5;  ///< where the dynamic loader finds the library
inline constexpr int held_control_descriptor = 6;  ///< the control socket
inline constexpr char held_preload[] = "LD_PRELOAD=/proc/self/fd/5";
inline constexpr std::uint32_t held_variables_max = 512;
inline constexpr std::uint32_t held_packet_max = 48 * 1024;

}  // namespace cmcp::sandbox
