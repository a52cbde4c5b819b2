#include "networks/network_caller.hpp"

#include "egress/egress_connector.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "networks/network_questions.hpp"
#include "text/time_text.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t most_waiting = 16;
constexpr std::size_t most_put = 50;  // a program could connect to ever more names
constexpr std::string_view elicitation = "elicitation/create";
constexpr const char* answer_lasting = "allow for this sandbox";
constexpr const char* answer_once = "allow for this run";
constexpr const char* answer_no = "refuse";

// Strings of a set alone, because all revisions know them.
json::object answer_schema()
{
    json::object answer;
    answer["type"] = "string";
    answer["title"] = "Answer";
    answer["enum"] = json::array{answer_lasting, answer_once, answer_no};
    json::object schema;
    schema["type"] = "object";
    schema["properties"] = json::object{{"answer", std::move(answer)}};
    schema["required"] = json::array{"answer"};
    return schema;
}

json::object question_params(const std::string& name, const std::string& place)
{
    json::object params;
    params["message"] = "Allow the sandbox \"" + name + "\" to connect to " + place + "?";
    params["requestedSchema"] = answer_schema();
    return params;
}

std::string obstacle_for(const caller& who, const request_io& io)
{
    if (!who.scopes.covers(scope::web)) return "the call that runs in the sandbox has no scope mcp:web";
    if (io.can_ask(elicitation, question_params({}, {}))) return {};
    return "the call that runs in the sandbox cannot ask: it is a job in the background, or its client takes no "
           "questions (elicitation)";
}

}  // namespace

network_caller::network_caller(network_questions& asks, std::string sandbox, std::string name, const caller& who,
                               request_io& io)
    : asks_(asks), sandbox_(std::move(sandbox)), name_(std::move(name)), io_(io), obstacle_(obstacle_for(who, io))
{
    asks_.enter(*this);
}

network_caller::~network_caller()
{
    refuse_all_for_now("the run whose user was asked has ended");
    asks_.leave(*this);
}

std::string network_caller::obstacle() const
{
    if (!obstacle_.empty()) return obstacle_;
    if (waiting_.size() >= most_waiting) return "too many questions wait for an answer already";
    return count_ < most_put ? "" : "this run has asked " + std::to_string(most_put) + " questions already";
}

const policy_decision* network_caller::refusal_of(const std::string& place) const
{
    const auto known = refused_.find(place);
    return known == refused_.end() ? nullptr : &known->second;
}

void network_caller::take(std::shared_ptr<network_question> question)
{
    ++count_;
    waiting_.push_back(std::move(question));
    raised_.notify();
}

awaitable<> network_caller::run()
{
    for (;;) {
        while (waiting_.empty()) co_await raised_.wait();
        auto question = waiting_.front();
        co_await put(std::move(question));
    }
}

awaitable<> network_caller::put(std::shared_ptr<network_question> question)
{
    egress_audit(*question->ticket, question->who, question->port, "asked", "network", {}, request());
    std::string key = "network-" + std::to_string(count_);
    std::string method(elicitation);
    auto params = question_params(name_, question->place);
    std::optional<json::object> answer;
    std::string failure;
    try {
        answer = co_await io_.ask_meanwhile(std::move(key), std::move(method), std::move(params), asks_.patience());
    } catch (const rpc_error& problem) {
        failure = problem.what();
    }
    if (!failure.empty())
        refuse_all_for_now("the user could not be asked (" + failure + ")");
    else if (!answer)
        refuse_all_for_now("the user gave no answer within " + seconds_text(asks_.patience()));
    else
        take_answer(*question, *answer);
    std::erase_if(waiting_, [](const auto& each) { return each->verdict.has_value(); });
}

// "decline" is a no, "cancel" is no answer (elicitation, "Response Actions").
void network_caller::take_answer(const network_question& question, const json::object& answer)
{
    const auto action = view_of(answer, "action");
    const auto choice = view_of(object_of(answer, "content"), "answer");
    if (action == "accept" && (choice == answer_lasting || choice == answer_once))
        asks_.allow(*this, question, choice == answer_lasting);
    else if (action == "decline" || (action == "accept" && choice == answer_no))
        asks_.refuse(*this, question);
    else
        refuse_for_now(question.place, "the user was asked and did not decide");
}

void network_caller::refuse_for_now(const std::string& place, const std::string& why)
{
    auto& verdict = refused_[place];
    verdict = network_questions::refusal(place, "no answer", why);
    asks_.settle(sandbox_, place, verdict);
}

// Those that wait behind an unanswered question are as old, and nobody seems to be there.
void network_caller::refuse_all_for_now(const std::string& why)
{
    for (const auto& each : std::exchange(waiting_, {}))
        if (!each->verdict) refuse_for_now(each->place, why);
}

}  // namespace cmcp
