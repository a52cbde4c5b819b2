#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"
#include "kernels/kernel_execution.hpp"
#include "kernels/kernel_manager.hpp"
#include "packages/sandbox_packages.hpp"

#include <utility>

// The parts of kernel_process and kernel_manager that answer what code asks the server (kernel_program.cpp).
namespace cmcp {

namespace {

using clock = event::clock;

constexpr auto question_ending_limit = std::chrono::seconds(30);
constexpr std::size_t most_install_output = 4096;
constexpr unsigned most_questions = 20;  // of one call, whose time does not go on meanwhile

std::vector<std::string> words_under(const json::object& question, std::string_view name)
{
    std::vector<std::string> words;
    const auto* list = question.if_contains(name);
    if (list == nullptr || !list->is_array()) return words;
    for (const auto& each : list->get_array())
        if (each.is_string()) words.emplace_back(each.get_string());
    return words;
}

json::object install_answer(const package_outcome& outcome)
{
    json::object answer{{"output", outcome.run.out + outcome.run.err}};
    answer["installed"] = json::array(outcome.installed.begin(), outcome.installed.end());
    if (!outcome.problem.empty()) answer["problem"] = outcome.problem;
    return answer;
}

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

kernel_questions kernel_manager::answers_for(caller who, request_io& io, sandbox_record where, kernel_listener* person)
{
    return [this, who = std::move(who), &io, where = std::move(where), person](json::object question) {
        if (person != nullptr && question.contains("input")) return person->ask(std::move(question));
        return install(who, io, where, words_under(question, "install"));
    };
}

// The call has a place among the runs, which serves the installation, too: places could all wait for each other else.
awaitable<json::object> kernel_manager::install(caller who, request_io& io, sandbox_record where,
                                                std::vector<std::string> names)
{
    json::object answer;
    if (packages_ == nullptr || names.empty()) {
        answer["problem"] = "Nothing can be installed from the kernel: use install_packages_in_sandbox.";
        co_return answer;
    }
    run_options options;
    options.has_slot = true;
    options.max_output = most_install_output;
    try {
        const auto outcome = co_await packages_->install(std::move(who), io, std::move(where), package_kind::pip,
                                                         std::move(names), std::move(options));
        answer = install_answer(outcome);
    } catch (const sandbox_error& refused) {
        answer["problem"] = refused.what();
    }
    co_return answer;
}

}  // namespace cmcp
