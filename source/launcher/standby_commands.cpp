#include "launcher/standby_commands.hpp"

#include "jail/held_program.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/packet_socket.hpp"

namespace cmcp::sandbox {
namespace {

// With room for what the library of a held program is told beyond that.
bool fits_a_packet(const start_message& start)
{
    constexpr std::size_t for_the_rest = 4096;
    return encode_begin(start, true).size() + for_the_rest <= packet_limit;
}

}  // namespace

// Of a program only its path is settled beforehand, because a profile of AppArmor may depend on it; of a shell that can
// be held also the number of its arguments.
std::optional<run_request> standby_commands::shape_for(const start_message& start)
{
    if (start.probe || start.request.argv.empty() || !fits_a_packet(start)) return std::nullopt;
    run_request shape = shape_of(start.request);
    if (!may_be_held(shape)) shape.argv.resize(1);
    for (std::size_t i = 1; i < shape.argv.size(); ++i) shape.argv[i].clear();
    shape.environment.clear();
    shape.result_channel = false;
    shape.prepared = false;
    return shape;
}

bool standby_commands::launch(std::uint64_t, run& standby)
{
    const bool holds = may_hold_ && may_be_held(standby.in().plan().request);
    if (holds && !library_) library_ = held_library();
    standby.launch_standby(holds ? library_.get() : -1);
    return true;
}

void standby_commands::note_loss(bool was_ready, const std::string&)
{
    if (!was_ready) may_hold_ = false;
}

}  // namespace cmcp::sandbox
