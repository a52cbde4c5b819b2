#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"
#include "kernels/kernel_execution.hpp"
#include "kernels/kernel_process.hpp"

#include <utility>

// The part of kernel_process that answers what code asks the server (kernel_program.cpp).
namespace cmcp {

namespace {

using clock = event::clock;

constexpr auto question_ending_limit = std::chrono::seconds(30);
constexpr unsigned most_questions = 20;  // of one call, whose time does not go on meanwhile

}  // namespace

awaitable<> kernel_process::wait_for_change(std::shared_ptr<execution> one, clock::time_point until)
{
    if (one->question_since)
        co_await changed_.wait();
    else
        co_await changed_.wait(until + one->asking);
}

// Code that was interrupted has given up its question, and may ask another one. What a person answers counts as the
// code's time, an installation does not.
bool kernel_process::begin_question(json::object message)
{
    if (!current_->answers) return false;
    current_->questions.cancel_all();
    current_->end_of_question();
    if (object_of(message, "ask").contains("install")) {
        ++current_->question_count;
        current_->question_since = clock::now();
    }
    current_->questions.spawn("kernel question", reply(shared_from_this(), current_, std::move(message)));
    return true;
}

// A reply is smaller than the socket's buffer, so an interrupt does not come into its middle.
awaitable<> kernel_process::reply(std::shared_ptr<kernel_process> self, std::shared_ptr<execution> one,
                                  json::object message)
{
    const auto since = one->question_since;
    json::object answer{{"problem", "One call installs at most " + std::to_string(most_questions) + " times."}};
    if (one->question_count <= most_questions) answer = co_await one->answers(object_of(message, "ask"));
    json::object words{{"op", "reply"}, {"number", number_of(message, "number")}, {"answer", std::move(answer)}};
    auto sending = self->send(std::move(words));
    co_await uncancelled(std::move(sending));  // a message is whole or the connection is of no use
    if (one->question_since == since) one->end_of_question();
    self->changed_.notify();
}

awaitable<> kernel_process::end_questions(std::shared_ptr<execution> one)
{
    one->questions.cancel_all();
    co_await one->questions.wait_idle(question_ending_limit);
}

}  // namespace cmcp
