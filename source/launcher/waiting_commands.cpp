#include "launcher/waiting_commands.hpp"

#include "jail/held_program.hpp"
#include "wire/packet_socket.hpp"

namespace cmcp::sandbox {
namespace {

// Of the program only its path is settled beforehand, which may decide about a profile of AppArmor; and of one that can
// be held, how many arguments it has.
run_request command_shape(const run_request& request)
{
    run_request shape = shape_of(request);
    if (!may_be_held(shape)) shape.argv.resize(1);
    for (std::size_t i = 1; i < shape.argv.size(); ++i) shape.argv[i].clear();
    shape.environment.clear();
    shape.result_channel = false;
    shape.prepared = false;
    return shape;
}

// With room for what else is told.
bool fits_a_packet(const run_request& request)
{
    constexpr std::size_t for_the_rest = 4096;
    std::size_t bytes = for_the_rest + request.working_dir.size();
    for (const auto& each : request.argv) bytes += each.size() + sizeof(std::uint32_t);
    for (const auto& [name, value] : request.environment)
        bytes += name.size() + value.size() + 2 * sizeof(std::uint32_t);
    return bytes <= packet_limit;
}

}  // namespace

waiting_commands::waiting_commands(run_keeper& keeper, std::size_t each)
    : keeper_(keeper), each_(each), children_(keeper, each)
{
}

bool waiting_commands::take(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    if (each_ == 0 || start.probe || start.request.argv.empty()) return false;
    if (!fits_a_packet(start.request)) return false;
    wanted_ = command_shape(start.request);
    wanted_shape_ = shape_name(wanted_, false);
    refill_.run_began();
    return children_.hand_over(wanted_shape_, start, descriptors);
}

void waiting_commands::lost(std::uint64_t key)
{
    const bool was_ready = children_.is_ready(key);
    const bool waited =
        children_.forget(key).has_value();  // one that was ended for another's sake is forgotten already
    if (waited && !was_ready) may_hold_ = false;
}

// -1: the program is executed when it is known what it is to do.
int waiting_commands::library()
{
    if (!may_hold_ || !may_be_held(wanted_)) return -1;
    if (!library_) library_ = held_library();
    return library_.get();
}

void waiting_commands::look(steady_time now, std::size_t running)
{
    if (!refill_.over(now, running, children_.count(wanted_shape_) == 0)) return;
    while (!children_.enough(wanted_shape_, 0))
        if (!make()) break;
    children_.trim(wanted_shape_);
}

bool waiting_commands::make()
try {
    const std::uint64_t key = ++last_key_;
    workshop shop = keeper_.shop();
    auto made = std::make_unique<run>(shop, key, wanted_, false);
    made->launch_waiting(shop, library());
    keeper_.keep(key, std::move(made));
    keeper_.watch_run(key);
    children_.add(key, wanted_shape_);
    return true;
} catch (const std::exception&) {
    return false;  // the cold start meets the same obstacle and explains it
}

}  // namespace cmcp::sandbox
