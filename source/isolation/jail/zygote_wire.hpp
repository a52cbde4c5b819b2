#pragma once

#include "jail/jail.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Messages between launcher, zygote and the zygote's children, one a packet. The launcher to the zygote:
/// one setup, then clone orders. To a child, over its control socket: its plan, "g" (go) and its start.
namespace cmcp::sandbox {

/// The first packet to a zygote.
struct zygote_setup {
    std::string profile;
    std::string program;             ///< of Python's -c: python_start::program
    bool memory_is_counted = false;  ///< by cgroups: decides which filters are installed, as does the next
    bool files_are_own = false;
    bool with_time_namespace = false;
};

template <class Wire>
void fields(Wire& wire, wired<Wire, zygote_setup>& setup)
{
    wire(setup.profile, setup.program, setup.memory_is_counted, setup.files_are_own, setup.with_time_namespace);
}

/// First byte of a zygote's messages.
enum class zygote_says : char {
    ready = 'r',    ///< JSON about the interpreter follows
    failed = 'x',   ///< a sentence follows; the zygote ends
    cloned = 'c',   ///< process id; with its pidfd
    refused = 'n',  ///< errno: the kernel made no clone
};

/// To the zygote: clone. Descriptors: the child's control socket, [the cgroup folder].
inline constexpr std::string_view clone_order = "c";

/// The plan without its filters and descriptors.
void write_plan(wire_writer& out, const jail_plan& plan);
void read_plan(wire_reader& in, jail_plan& plan);

/// The plan without its filters and its run's own descriptors. Descriptors: root, [workspace], [files].
std::string encode_plan(const jail_plan& plan);
std::vector<int> plan_descriptors(const jail_plan& plan);
void decode_plan(packet message, jail_plan& plan);

/// For decode_start(): the parts of a start that are sent to its program, which stands by in its cell. Descriptors as
/// in launcher_protocol.hpp.
std::string encode_begin(const start_message& start);

/// Moves a start's descriptors into the plan. Throws step_failed when some are missing.
void take_descriptors(jail_plan& plan, const start_message& start, std::vector<unique_fd>& descriptors);

}  // namespace cmcp::sandbox
