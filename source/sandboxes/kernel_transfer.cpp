#include "sandboxes/kernel_transfer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace cmcp {

namespace {

// One more is left out each time that something could not be made again.
constexpr int most_attempts = 10;

// Whoever fails ends the receiver: the other side would wait for it.
awaitable<kernel_answer> give(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                              json::array left_out, std::chrono::milliseconds limit)
{
    auto answer = co_await from->give(to, std::move(left_out), limit);
    if (!answer.ok) co_await to->finish();
    co_return answer;
}

awaitable<kernel_answer> take(std::shared_ptr<kernel_process> to, std::chrono::milliseconds limit)
{
    auto answer = co_await to->take(limit);
    if (!answer.ok) co_await to->finish();
    co_return answer;
}

std::string text_of(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t count_of(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_int64() && value->get_int64() > 0
               ? static_cast<std::uint64_t>(value->get_int64())
               : 0;
}

void add_problems(const json::object& given, kernel_transfer& made)
{
    const auto* all = given.if_contains("problems");
    if (all == nullptr || !all->is_array()) return;
    for (const auto& one : all->get_array())
        if (one.is_object())
            made.left_out.push_back({text_of(one.get_object(), "name"), text_of(one.get_object(), "reason")});
}

json::array transfer_names(const kernel_transfer& made)
{
    json::array all;
    for (const auto& one : made.left_out) all.emplace_back(one.name);
    return all;
}

std::string why_not(const kernel_answer& given, const kernel_answer& taken, const kernel_process& to)
{
    if (given.lost) return "The kernel ended while its state was read.";
    if (given.timed_out) return "Reading the kernel's state took too long.";
    if (!given.ok && !given.reason.empty()) return "The kernel's state could not be read: " + given.reason;
    if (taken.timed_out) return "Making the state again took too long.";
    if (to.end() && to.end()->why == sandbox::cause::memory_limit)
        return "The new kernel needed more memory than SANDBOX_KERNEL_MEMORY allows.";
    if (to.end() && to.end()->why == sandbox::cause::setup_failed)
        return "The new kernel could not be started: " + to.end()->error;
    if (!taken.reason.empty()) return "The state could not be made again: " + taken.reason;
    return "The new kernel ended while it took the state.";
}

struct both_answers {
    kernel_answer given;
    kernel_answer taken;
};

// The receiver first: it must be listening when the first byte comes.
awaitable<both_answers> attempt(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                json::array left_out, std::chrono::milliseconds limit)
{
    auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, take(to, limit), asio::deferred),
        asio::co_spawn(executor, give(from, to, std::move(left_out), limit), asio::deferred));
    auto [order, take_failure, taken, give_failure, given] =
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    if (give_failure) std::rethrow_exception(give_failure);
    if (take_failure) std::rethrow_exception(take_failure);
    both_answers made;
    made.given = std::move(given);
    made.taken = std::move(taken);
    co_return made;
}

}  // namespace

awaitable<kernel_transfer> transfer_state(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                          std::chrono::milliseconds limit)
{
    kernel_transfer made;
    for (int i = 0; i < most_attempts; ++i) {
        auto trying = attempt(from, to, transfer_names(made), limit);
        auto both = co_await std::move(trying);
        add_problems(both.given.state, made);
        if (!both.given.ok || !both.taken.ok) {
            made.problem = why_not(both.given, both.taken, *to);
            co_return made;
        }
        const auto* failed = both.taken.state.if_contains("problem");
        if (failed == nullptr) {
            made.done = true;
            made.variables = count_of(both.given.state, "variables");
            made.figures = count_of(both.given.state, "figures");
            made.bytes = from->given();
            co_return made;
        }
        if (!failed->is_object() || text_of(failed->get_object(), "name").empty()) {
            made.problem = "The state could not be made again: " +
                           (failed->is_object() ? text_of(failed->get_object(), "reason") : std::string());
            break;
        }
        made.left_out.push_back({text_of(failed->get_object(), "name"), text_of(failed->get_object(), "reason")});
        made.problem = "Too many variables could not be made again.";
    }
    co_await to->finish();
    co_return made;
}

}  // namespace cmcp
