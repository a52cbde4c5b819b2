#include "kernels/kernel_transfer.hpp"

#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <exception>

namespace cmcp {

// Python programs for a kernel (kernel_driver) that give the state of one interpreter to another of the same version,
// as pickles that go through the server. Each is `kernel_state_common` and what follows it; they define a function
// that takes the message and gives what the answer's `state` is:
//   give {"left_out": [name]} → {"variables", "figures", "problems": [{"name", "reason"}]}, the state before it
//   take {} → {} or {"problem": {"name", "reason"}}: nothing was taken, as that variable could not be made again
// Beyond what pickle does by itself, functions and classes that were defined in the kernel go as they are; names stay
// shared where variables share an object, but for arrays that are views of one memory.
extern const std::string_view kernel_state_common;
extern const std::string_view kernel_state_give;
extern const std::string_view kernel_state_take;
extern const std::string_view kernel_state_keep;  // stands behind kernel_state_give

namespace {

constexpr std::size_t relayed_at_once = 1 << 20;

std::string state_program(std::string_view part) { return std::string(kernel_state_common) + std::string(part); }

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
    if (to.end() && to.end()->why == sandbox::cause::lost) return to.end()->error;
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

// The part of kernel_process that moves an interpreter's state to another one. The bytes go through the server, so that
// two sandboxes never share a descriptor, and the same way serves containers.

// A receiver that is gone is no reason to stop reading: the giver could not end its message.
awaitable<bool> kernel_process::pass_on(std::string head, std::size_t size)
{
    auto to = receiver_;
    bytes_sent_ += size;
    if (to) {
        const bool went = co_await to->put_piece(head);
        if (!went) to.reset();
    }
    std::string buffer(std::min(size, relayed_at_once), '\0');
    while (size != 0) {
        auto space = asio::buffer(buffer, std::min(size, buffer.size()));
        auto [failure, got] = co_await link_.async_read_some(space, as_tuple);
        if (failure) co_return false;
        size -= got;
        if (!to) continue;
        const bool went = co_await to->put_piece(std::string_view(buffer.data(), got));
        if (!went) to.reset();
    }
    if (!to) receiver_.reset();
    co_return true;
}

awaitable<bool> kernel_process::put_piece(std::string_view bytes)
{
    const auto self = shared_from_this();
    while (!taking_ && alive() && current_) co_await changed_.wait();
    if (!taking_) co_return false;
    auto [failure, sent] = co_await asio::async_write(link_, asio::buffer(bytes), as_tuple);
    co_return !failure;
}

awaitable<kernel_answer> kernel_process::give(std::shared_ptr<kernel_process> to, json::array left_out,
                                              std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    struct forget {
        kernel_process& of;
        ~forget() { of.receiver_.reset(); }
    } at_end{*this};
    receiver_ = std::move(to);
    bytes_sent_ = 0;
    json::object message{{"op", "give"}, {"program", state_program(kernel_state_give)}, {"left_out", left_out}};
    const auto one = begin(nullptr, message);
    auto sending = send(std::move(message));
    co_await uncancelled(std::move(sending));
    auto answer = co_await answer_to(one, limit);
    co_return answer;
}

awaitable<kernel_answer> kernel_process::take(std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    struct forget {
        kernel_process& of;
        ~forget() { of.taking_ = false; }
    } at_end{*this};
    json::object message{{"op", "take"}, {"program", state_program(kernel_state_take)}};
    const auto one = begin(nullptr, message);
    auto sending = send(std::move(message));
    co_await uncancelled(std::move(sending));
    taking_ = true;
    changed_.notify();
    auto answer = co_await answer_to(one, limit);
    co_return answer;
}

awaitable<kernel_answer> kernel_process::keep(std::uint64_t most, std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    const auto program = state_program(kernel_state_give) + std::string(kernel_state_keep);
    json::object message{{"op", "keep"}, {"program", program}, {"most", most}};
    const auto one = begin(nullptr, message);
    auto sending = send(std::move(message));
    co_await uncancelled(std::move(sending));
    auto answer = co_await answer_to(one, limit);
    co_return answer;
}

awaitable<kernel_transfer> transfer_state(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                          std::chrono::milliseconds limit)
{
    kernel_transfer transfer;
    for (int i = 0; i < most_attempts; ++i) {
        auto both = co_await attempt(from, to, transfer_names(transfer), limit);
        add_problems(both.giving.state, transfer);
        if (!both.giving.ok || !both.taking.ok) {
            transfer.problem = why_not(both.giving, both.taking, *to);
            co_return transfer;
        }
        if (!both.taking.state.contains("problem")) {
            transfer.done = true;
            transfer.variables = count_of(both.giving.state, "variables");
            transfer.figures = count_of(both.giving.state, "figures");
            transfer.bytes = from->bytes_sent();
            co_return transfer;
        }
        const auto& variable = object_of(both.taking.state, "problem");
        transfer.left_out.push_back({text_of(variable, "name"), text_of(variable, "reason")});
        if (transfer.left_out.back().name.empty()) {
            transfer.problem = "The state could not be made again: " + transfer.left_out.back().reason;
            transfer.left_out.pop_back();
            break;
        }
        transfer.problem = "Too many variables could not be made again.";
    }
    co_await to->finish();
    co_return transfer;
}

}  // namespace cmcp
