#include "cluster/sandbox_moves.hpp"

#include "cluster/member_line.hpp"
#include "http/http_refusal.hpp"
#include "log/log.hpp"

namespace cmcp {

namespace {

constexpr std::chrono::minutes longest_move(10);  // of a large sandbox over a slow storage
constexpr std::chrono::seconds between_rounds(1);

// It has given the sandbox away, so nobody waits for its end.
awaitable<std::optional<bool>> is_there(std::string) { co_return false; }

awaitable<bool> ask_to_take(std::shared_ptr<member_links> links, cluster_member to, std::string handle)
{
    member_line line(std::move(links), std::move(to));
    const auto answer = co_await line.ask("/member/take?sandbox=" + handle, longest_move);
    co_return answer.value_or(false);
}

}  // namespace

sandbox_moves::sandbox_moves(const members& all, std::shared_ptr<member_links> links, moving_sandboxes moving,
                             member_loads& loads)
    : members_(all), links_(std::move(links)), moving_(std::move(moving)), loads_(loads)
{
}

void sandbox_moves::refuse_without_storage() const
{
    if (!moving_.hand_over)
        throw http_refusal(409, "Sandboxes move through object storage: set SNAPSHOT_STORE on all servers first.",
                           "StateError");
}

awaitable<std::string> sandbox_moves::move(std::string handle, std::string to)
{
    refuse_without_storage();
    if (to.empty()) to = loads_.place_given_away(moving_.needs_of(handle));
    const auto* member = members_.other(to);
    if (member == nullptr || !members_.has(to))
        throw http_refusal(
            400,
            to.empty() ? "No other server takes this sandbox now: `container-mcp cluster` shows them, and their labels."
                       : "No other server of the name " + to + " is registered now.",
            "InvalidArgument");
    auto take = [links = links_, where = *member, handle] { return ask_to_take(links, where, handle); };
    co_await moving_.hand_over(handle, to, std::move(take));
    log::info("sandbox_moved", {{"sandbox", handle}, {"to", to}});
    co_return to;
}

awaitable<bool> sandbox_moves::take(std::string from, std::string handle)
{
    refuse_without_storage();
    const auto place = co_await moving_.find(std::move(handle), std::move(from), is_there);
    co_return place == members_.own().name;
}

void sandbox_moves::drain(bool on)
{
    if (on != drains_) log::info(on ? "drained" : "drained_no_more");
    drains_ = on;
    changed_.notify();
}

awaitable<bool> sandbox_moves::move_quietly(std::string handle, std::string to)
{
    std::string problem;
    try {
        co_await move(handle, std::move(to));
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("sandbox_not_moved", {{"sandbox", handle}, {"reason", problem}});
    co_return problem.empty();
}

awaitable<std::size_t> sandbox_moves::rebalance()
{
    refuse_without_storage();
    std::size_t moved = 0;
    for (const auto& handle : moving_.idle(true)) {
        auto to = loads_.place_surplus(moving_.needs_of(handle));
        if (to.empty()) continue;
        const bool done = co_await move_quietly(handle, std::move(to));
        if (done) ++moved;
    }
    co_return moved;
}

awaitable<> sandbox_moves::give_away()
{
    for (const auto& handle : moving_.idle(false)) {
        if (!drains_) break;
        std::string anywhere;
        co_await move_quietly(handle, std::move(anywhere));
    }
}

awaitable<> sandbox_moves::run()
{
    for (;;) {
        while (!drains_ || !moving_.idle) co_await changed_.wait();
        co_await give_away();
        co_await changed_.wait(event::clock::now() + between_rounds);
    }
}

}  // namespace cmcp
