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

/// Programs to which arguments that name no file are harmless: shells of this machine.
bool may_be_held(const run_request& request);

/// The library, in a sealed memory file. Throws std::system_error.
unique_fd held_library();

/// The packet for the library, as hold/held_start.hpp tells. Throws step_failed where it cannot be told.
std::string encode_held_start(const start_message& start);

/// As run_waiting_child(), for a program that is held.
[[noreturn]] void run_held_child(jail_plan& plan);

/// The part of a start that is settled before the held shell knows it.
struct held_kind {
    std::string path;
    std::size_t arguments = 0;
    std::uint64_t process_memory = 0;
    bool operator==(const held_kind&) const = default;
};
std::optional<held_kind> held_kind_of(const run_request& request);  ///< nothing: it may not be held

/// In a child of a lasting cell's first process: confines itself, tells its listener over `link`, becomes the shell.
[[noreturn]] void hold_in_cell(jail_plan& plan, const held_kind& kind, unique_fd link);

}  // namespace cmcp::sandbox
