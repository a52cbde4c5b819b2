#include "waiting_commands.hpp"

#include "sandbox/packet_socket.hpp"
#include "zygote_wire.hpp"

namespace cmcp::sandbox {
namespace {

// Of the program only its path is settled beforehand: it may decide about a profile of AppArmor.
run_request command_shape(const run_request& request)
{
    run_request shape = shape_of(request);
    shape.argv.resize(1);
    shape.environment.clear();
    shape.result_channel = false;
    shape.prepared = false;
    return shape;
}

}  // namespace

waiting_commands::waiting_commands(run_keeper& keeper, std::size_t each) : keeper_(keeper), each_(each), children_(keeper, each) {}

bool waiting_commands::take(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    if (each_ == 0 || start.probe || start.request.argv.empty()) return false;
    if (encode_begin(start, true).size() > packet_limit) return false;
    wanted_ = command_shape(start.request);
    wanted_shape_ = shape_name(wanted_, false);
    refill_.run_began();
    return children_.hand_over(wanted_shape_, start, descriptors);
}

void waiting_commands::look(steady_time now, bool busy)
{
    if (!refill_.over(now, busy)) return;
    while (!children_.enough(wanted_shape_, 0))
        if (!make()) break;
    children_.trim(wanted_shape_);
}

bool waiting_commands::make()
try {
    const std::uint64_t key = ++last_key_;
    workshop shop = keeper_.shop();
    auto made = std::make_unique<run>(shop, key, wanted_, false);
    made->launch_waiting(shop);
    keeper_.keep(key, std::move(made));
    keeper_.watch_run(key);
    children_.add(key, wanted_shape_);
    return true;
} catch (const std::exception&) {
    return false;   // the cold start meets the same obstacle and explains it
}

}  // namespace cmcp::sandbox
