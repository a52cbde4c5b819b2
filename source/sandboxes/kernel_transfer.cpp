#include "sandboxes/kernel_transfer.hpp"

#include "jsonrpc/read_object.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace cmcp {

namespace {

// Each attempt leaves out one more variable that could not be made again.
constexpr int most_attempts = 10;

// A side that fails ends the receiver, because the other side would wait for it.
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

std::uint64_t count_of(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_int64() && value->get_int64() > 0
               ? static_cast<std::uint64_t>(value->get_int64())
               : 0;
}

void add_problems(const json::object& state, kernel_transfer& transfer)
{
    const auto* all = state.if_contains("problems");
    if (all == nullptr || !all->is_array()) return;
    for (const auto& one : all->get_array())
        if (one.is_object())
            transfer.left_out.push_back({text_of(one.get_object(), "name"), text_of(one.get_object(), "reason")});
}

json::array transfer_names(const kernel_transfer& transfer)
{
    json::array all;
    for (const auto& one : transfer.left_out) all.emplace_back(one.name);
    return all;
}

std::string why_not(const kernel_answer& giving, const kernel_answer& taking, const kernel_process& to)
{
    if (giving.lost) return "The kernel ended while its state was read.";
    if (giving.timed_out) return "Reading the kernel's state took too long.";
    if (!giving.ok && !giving.reason.empty()) return "The kernel's state could not be read: " + giving.reason;
    if (taking.timed_out) return "Making the state again took too long.";
    if (to.end() && to.end()->why == sandbox::cause::memory_limit)
        return "The new kernel needed more memory than SANDBOX_KERNEL_MEMORY allows.";
    if (to.end() && to.end()->why == sandbox::cause::setup_failed)
        return "The new kernel could not be started: " + to.end()->error;
    if (!taking.reason.empty()) return "The state could not be made again: " + taking.reason;
    return "The new kernel ended while it took the state.";
}

struct both_answers {
    kernel_answer giving;
    kernel_answer taking;
};

// The receiver starts first, because it must be listening when the first byte comes.
awaitable<both_answers> attempt(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                json::array left_out, std::chrono::milliseconds limit)
{
    auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, take(to, limit), asio::deferred),
        asio::co_spawn(executor, give(from, to, std::move(left_out), limit), asio::deferred));
    auto [order, take_failure, taking, give_failure, giving] =
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    if (give_failure) std::rethrow_exception(give_failure);
    if (take_failure) std::rethrow_exception(take_failure);
    both_answers answers;
    answers.giving = std::move(giving);
    answers.taking = std::move(taking);
    co_return answers;
}

}  // namespace

awaitable<kernel_transfer> transfer_state(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                          std::chrono::milliseconds limit)
{
    kernel_transfer transfer;
    for (int i = 0; i < most_attempts; ++i) {
        auto trying = attempt(from, to, transfer_names(transfer), limit);
        auto both = co_await std::move(trying);
        add_problems(both.giving.state, transfer);
        if (!both.giving.ok || !both.taking.ok) {
            transfer.problem = why_not(both.giving, both.taking, *to);
            co_return transfer;
        }
        const auto* failed = both.taking.state.if_contains("problem");
        if (failed == nullptr) {
            transfer.done = true;
            transfer.variables = count_of(both.giving.state, "variables");
            transfer.figures = count_of(both.giving.state, "figures");
            transfer.bytes = from->bytes_sent();
            co_return transfer;
        }
        if (!failed->is_object() || text_of(failed->get_object(), "name").empty()) {
            transfer.problem = "The state could not be made again: " +
                               (failed->is_object() ? text_of(failed->get_object(), "reason") : std::string());
            break;
        }
        transfer.left_out.push_back({text_of(failed->get_object(), "name"), text_of(failed->get_object(), "reason")});
        transfer.problem = "Too many variables could not be made again.";
    }
    co_await to->finish();
    co_return transfer;
}

}  // namespace cmcp
