#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// Calls that are allowed whatever their arguments are.
std::span<const std::string_view> allowed_syscalls();

/// (argument[index] & mask) == value, or argument[index] != value where it `differs`.
struct argument_is {
    unsigned index;
    std::uint64_t mask;
    std::uint64_t value;
    bool differs = false;
};

/// The `error` of a call that succeeds and does nothing.
inline constexpr int without_effect = -1;

/// A call whose fate depends on its arguments: it ends with `error` (0: allowed) when all conditions hold. Without a
/// rule that holds the filter answers as to calls that it does not name.
struct syscall_rule {
    std::string_view name;
    int number;  ///< for a libseccomp that does not know the name yet; -1: the name is old enough
    int error;
    std::vector<argument_is> when;
};

std::vector<syscall_rule> conditional_syscalls();

/// All rules of a cell of class machine.
struct machine_calls {
    bool nested = false;  ///< it may mount, and make namespaces of its own
    bool one_id = false;  ///< its user namespace has root alone
    auto operator<=>(const machine_calls&) const = default;
};
std::vector<syscall_rule> machine_syscalls(const machine_calls& which);

/// Those of them with which files are made and get a mode, but none with a set-uid or set-gid bit.
std::vector<syscall_rule> calls_without_set_id();

/// Those of them that the browser has, too: limits, internet sockets, the options of sockets. A socket of a family
/// beside `families` fails with EAFNOSUPPORT.
std::vector<syscall_rule> common_conditional_syscalls(std::span<const int> families);

/// ioctl requests that inject input into a terminal, take over its output, or let another line discipline (a protocol
/// of modems, often broken) read it; only the low 32 bits of the request count.
std::span<const std::uint32_t> refused_ioctls();

/// Numbers from here on are newer than these lists. Since Linux 5.1 a new call has the same number on every
/// architecture.
inline constexpr std::uint32_t first_unknown_syscall = 463;

}  // namespace cmcp::sandbox
