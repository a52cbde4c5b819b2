#pragma once

#include "jail/jail.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// Programs that are executed, mapped and relocated before anyone asks for them, and held before their main(): see
/// source/hold. That takes a dynamic loader that finds the library, so whether a program can be held shows when it says
/// that it waits; where the loader does not load it (no /proc, an AppArmor profile), the program runs with arguments
/// that mean nothing to it, and ends.
namespace cmcp::sandbox {

/// The part of a start that is settled before the held shell knows it.
struct held_kind {
    std::string path;
    std::size_t arguments = 0;
    std::uint64_t process_memory = 0;
    bool operator==(const held_kind&) const = default;
};

/// Nothing: it may not be held. Shells of this machine may, to which arguments that name no file are harmless.
std::optional<held_kind> held_kind_of(const run_request& request);

/// The library, in a sealed memory file. Throws std::system_error.
unique_fd held_library();

/// The packet for the library, as hold/held_start.hpp tells. Nothing where it does not fit.
std::optional<std::string> encode_held_start(const start_message& start);

/// In a process of a cell, which has its socket as the plan's control: confines itself and becomes the shell that the
/// request expects. Throws step_failed.
[[noreturn]] void hold(jail_plan& plan, const run_request& expected, int library);

}  // namespace cmcp::sandbox
