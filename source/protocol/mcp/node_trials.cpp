#include "mcp/node_trials.hpp"

#include <chrono>

namespace cmcp {

namespace {

using cause = node_unreachable::cause;

constexpr std::chrono::seconds patience_with_nodes(10);  // longer than it takes to agree that one is gone
constexpr int most_misdirections = 2;

// Nothing: the node has answered.
awaitable<std::optional<node_unreachable>> problem_at(movable_request& request, std::string node)
{
    std::optional<node_unreachable> problem;
    try {
        co_await request.try_at(std::move(node));
    } catch (const node_unreachable& failure) {
        problem = failure;
    }
    co_return problem;
}

// A problem of finding is the better one to tell.
awaitable<std::optional<std::string>> next_place(movable_request& request, std::string node, node_unreachable& problem)
{
    std::optional<std::string> place;
    try {
        place = co_await request.find_again(std::move(node));
        if (!place && problem.why != cause::silent) place.emplace();
    } catch (const node_unreachable& failure) {
        problem = failure;
    }
    co_return place;
}

}  // namespace

awaitable<> try_nodes(movable_request& request, std::string node)
{
    const auto until = std::chrono::steady_clock::now() + patience_with_nodes;
    for (int misdirections = 0;;) {
        auto problem = co_await problem_at(request, node);
        if (!problem) co_return;
        if (problem->why == cause::elsewhere) ++misdirections;
        const bool is_over = misdirections > most_misdirections || std::chrono::steady_clock::now() > until;
        if (misdirections == 1 && !problem->place.empty()) {
            node = problem->place;
            continue;
        }
        auto place = co_await next_place(request, node, *problem);
        if (place && place->empty()) throw found_here();
        if (!place || is_over) throw node_unreachable(*problem);
        node = *std::move(place);
    }
}

}  // namespace cmcp
