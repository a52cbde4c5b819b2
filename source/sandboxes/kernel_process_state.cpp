#include "sandboxes/kernel_process.hpp"

#include "async/uncancelled.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>

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

// The part of kernel_process that moves an interpreter's state to another one. The bytes go through the server, so that
// two sandboxes never share a descriptor, and the same way serves containers.

using clock = event::clock;

namespace {

constexpr std::size_t relayed_at_once = 1 << 20;

std::string state_program(std::string_view part) { return std::string(kernel_state_common) + std::string(part); }

}  // namespace

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

}  // namespace cmcp
