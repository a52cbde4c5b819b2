#include "mcp/node_trials.hpp"

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
awaitable<std::optional<std::string>> next_node(movable_request& request, std::string node,
                                                movable_request::moment tried, node_unreachable& problem)
{
    std::optional<std::string> next;
    try {
        next = co_await request.find_again(std::move(node), tried);
        if (!next && problem.why != cause::silent) next.emplace();
    } catch (const node_unreachable& failure) {
        problem = failure;
    }
    co_return next;
}

}  // namespace

awaitable<> try_nodes(movable_request& request, std::string node)
{
    const auto until = std::chrono::steady_clock::now() + patience_with_nodes;
    for (int misdirections = 0;;) {
        const auto tried = std::chrono::steady_clock::now();
        auto problem = co_await problem_at(request, node);
        if (!problem) co_return;
        if (problem->why == cause::unanswered && !request.may_repeat()) throw node_unreachable(*problem);
        if (problem->why == cause::unanswered) problem->why = cause::silent;  // nothing is lost by another try
        if (problem->why == cause::elsewhere) ++misdirections;
        const bool is_over = misdirections > most_misdirections || std::chrono::steady_clock::now() > until;
        if (misdirections == 1 && !problem->new_node.empty()) {
            node = problem->new_node;
            continue;
        }
        auto next = co_await next_node(request, node, tried, *problem);
        if (next && next->empty()) throw found_here();
        if (!next || is_over) throw node_unreachable(*problem);
        node = *std::move(next);
    }
}

}  // namespace cmcp
