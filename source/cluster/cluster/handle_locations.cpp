#include "cluster/handle_locations.hpp"

#include "cluster/member_links.hpp"
#include "runs/sandbox_error.hpp"
#include "text/handles.hpp"

namespace cmcp {

namespace {

constexpr std::chrono::seconds patience_with_lease(1);
constexpr std::chrono::milliseconds least_silence(900);  // where there is no answer, and no refusal either
constexpr std::string_view home_node = "home";           // in the handles of default sandboxes

}  // namespace

// A server that has not come back since this one began may have had what moves.
std::string handle_locations::owner_of(std::string_view handle) const
{
    const auto& own = members_.own().name;
    const auto moved = moving_.node_of ? moving_.node_of(handle) : std::string();
    if (!moved.empty()) return moved == own ? std::string() : moved;
    const std::string node(handle_maker::node_of(handle));
    if (node.empty() || node == home_node || node == own) return {};
    const bool may_be_taken_over = moving_.find && handle_maker::may_move(handle) && is_member_name(node);
    return members_.owner_of(handle) != nullptr || may_be_taken_over ? node : std::string();
}

std::string handle_locations::default_sandbox_of(const std::string& principal) const
{
    return moving_.default_sandbox ? moving_.default_sandbox(principal) : std::string();
}

std::string handle_locations::home_by_claim(std::string_view handle) const
{
    return moving_.node_of && !handle.empty() ? moving_.node_of(handle) : std::string();
}

bool handle_locations::is_on_its_way(std::string_view handle) const
{
    return moving_.node_of && moving_.node_of(handle) == members_.own().name && !moving_.is_here(std::string(handle));
}

bool handle_locations::is_misdirected(std::string_view handle) const
{
    return handle_maker::may_move(handle) && !owner_of(handle).empty();
}

cluster_member handle_locations::member(const std::string& node) const
{
    if (node == members_.own().name)
        throw node_unreachable("It is on its way to this server.", node_unreachable::cause::coming);
    // The others do not believe it then.
    if (moving_.may_pass_on && !moving_.may_pass_on())
        throw node_unreachable("This server does not reach etcd, so it passes nothing on.",
                               node_unreachable::cause::silent, "NodeCutOff");
    const auto* other = members_.other(node);
    if (other == nullptr) throw node_unreachable("The server " + node + " is not registered in etcd.");
    if (members_.leaves(node)) throw node_unreachable(about_to_stop(node));
    return *other;
}

// One that is registered anew, or refuses connections because it has just begun, may be tried again. One that keeps its
// registration, though this server does not reach it, has what it has for as long as that is so.
awaitable<std::optional<bool>> handle_locations::is_gone(std::string node, movable_request::moment tried,
                                                         bool was_silent)
{
    if (members_.came_after(node, tried)) co_return false;
    const bool lives = !members_.leaves(node) && co_await lease_.is_renewed(node, tried);
    if (lives && !was_silent) co_return false;
    if (lives)
        throw node_unreachable("The server " + node + " is registered in etcd, and cannot be reached from this one.");
    auto gone = co_await lease_.is_gone(std::move(node), patience_with_lease);
    co_return gone;
}

awaitable<std::optional<std::string>> handle_locations::find_again(std::string handle, std::string node,
                                                                   movable_request::moment tried)
{
    std::optional<std::string> place;
    if (!moving_.find || !handle_maker::may_move(handle)) co_return place;
    const bool was_silent = std::chrono::steady_clock::now() - tried >= least_silence;
    gone_question is_gone = [this, tried, was_silent](std::string member) {
        return this->is_gone(std::move(member), tried, was_silent);
    };
    std::string problem, type = "SnapshotStoreError";
    try {
        auto found_node = co_await moving_.find(handle, node, is_gone);
        const bool is_own = found_node == members_.own().name;
        if (!found_node.empty()) place = is_own ? std::string() : std::move(found_node);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const node_unreachable&) {
        throw;
    } catch (const sandbox_error& refused) {
        problem = refused.what();
        type = refused.type;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) throw node_unreachable(problem, node_unreachable::cause::silent, type);
    co_return place;
}

}  // namespace cmcp
