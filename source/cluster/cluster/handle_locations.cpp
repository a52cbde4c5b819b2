#include "cluster/handle_locations.hpp"

#include "text/handles.hpp"

namespace cmcp {

namespace {

constexpr std::chrono::seconds patience_with_votes(1);
constexpr std::string_view home_node = "home";  // in the handles of default sandboxes

}  // namespace

const cluster_member* handle_locations::owner_of(std::string_view handle) const
{
    const auto moved = moving_.node_of ? moving_.node_of(handle) : std::string();
    if (!moved.empty()) return members_.other(moved);
    return handle_maker::node_of(handle) == home_node ? nullptr : members_.owner_of(handle);
}

std::string handle_locations::default_sandbox_of(const std::string& principal) const
{
    return moving_.default_sandbox ? moving_.default_sandbox(principal) : std::string();
}

awaitable<std::string> handle_locations::home_by_claim(std::string handle)
{
    if (!moving_.look_for_owner || handle.empty()) co_return std::string();
    co_await moving_.look_for_owner(handle);
    co_return known_home_by_claim(handle);
}

std::string handle_locations::known_home_by_claim(std::string_view handle) const
{
    return moving_.node_of && !handle.empty() ? moving_.node_of(handle) : std::string();
}

bool handle_locations::is_on_its_way(std::string_view handle) const
{
    return moving_.node_of && moving_.node_of(handle) == members_.own().name && !moving_.is_here(std::string(handle));
}

bool handle_locations::is_misdirected(std::string_view handle) const
{
    return handle_maker::may_move(handle) && owner_of(handle) != nullptr;
}

cluster_member handle_locations::member(const std::string& node) const
{
    if (node == members_.own().name)
        throw node_unreachable("It is on its way to this server.", node_unreachable::cause::coming);
    const auto* other = members_.other(node);
    if (other == nullptr) throw node_unreachable("The server " + node + " is none of this cluster.");
    return *other;
}

awaitable<std::optional<std::string>> handle_locations::find_again(std::string handle, std::string node)
{
    std::optional<std::string> place;
    if (!moving_.find || !handle_maker::may_move(handle)) co_return place;
    gone_question is_gone = [this](std::string member) {
        return watch_.is_gone(std::move(member), patience_with_votes);
    };
    std::string problem;
    try {
        auto found_node = co_await moving_.find(handle, node, is_gone);
        const bool is_own = found_node == members_.own().name;
        if (!found_node.empty()) place = is_own ? std::string() : std::move(found_node);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) throw node_unreachable(problem, node_unreachable::cause::silent, "SnapshotStoreError");
    co_return place;
}

}  // namespace cmcp
