#pragma once

#include "cell/session.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The orders of the launcher to the first process of a cell, one packet each, and the start that it hands to a program
/// which stands by there. An order of a socket is in cell/cell_sockets.hpp.
namespace cmcp::sandbox {

/// First byte of an order.
enum class cell_order : char {
    program = 'm',  ///< program_order, with the program's socket, and the library where it is a held one:
                    ///< child_says::program answers in a cell that lasts, and where there is none
    begin = 'b',    ///< begin_order, in a cell that lasts: the program gets its start now
    kill = 'k',     ///< number of a program, which is killed with its session
    hold = 'h',     ///< whether all processes of the cell but its first one stand still
    socket = 's',
    local = 'l',  ///< of a program's socket, in cell/local_sockets.hpp: child_says::refused answers what is no
                  ///< program's of the cell
};

/// A program that is to stand by. Its socket may hold its start already.
struct program_order {
    std::uint32_t number = 0;  ///< the launcher's name for it
    bool held = false;         ///< a shell that is held before its main(); else it becomes any program
    bool waits = true;         ///< false: its start comes at once, so nothing is done that only a wait profits from
    bool interprets = true;    ///< where there is an interpreter: the start may be for that
    start_message expected;    ///< the arguments, environment and limits that its start will probably have
};
std::string encode_program_order(const program_order& order);

/// Sent before the start itself, so that the first process of a lasting cell knows of it when the program ends.
struct begin_order {
    std::uint32_t number = 0;
    run_outputs outputs{};
};
std::string encode_begin_order(const begin_order& order);

std::string encode_kill_order(std::uint32_t number);
std::string encode_hold_order(bool on);

/// After the first byte of each.
program_order decode_program_order(std::string_view rest);
begin_order decode_begin_order(std::string_view rest);
std::uint32_t decode_kill_order(std::string_view rest);
bool decode_hold_order(std::string_view rest);

/// Hands a start over to a program that is not held. `loaded`: it becomes the program that the first process has
/// loaded. False: the program's socket is full. Throws std::system_error, step_failed.
bool send_start(int program, bool loaded, const start_message& start, std::span<const int> descriptors);

/// The start as it arrives: takes its descriptors from the packet where they do not belong to the program.
struct arrived_start {
    bool loaded;
    std::string body;  ///< for decode_start()
};
arrived_start take_arrived_start(packet& message);  ///< throws step_failed, std::runtime_error

}  // namespace cmcp::sandbox
