#include "networks/network_questions.hpp"

#include "egress/egress_connector.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

policy_decision network_questions::refusal(const std::string& place, std::string rule, const std::string& why)
{
    policy_decision verdict;
    const std::string again = rule == "no answer" ? "run it again when the user can answer, or " : "";
    verdict.rule = std::move(rule);
    verdict.sentence = place + " is refused: it is not in the sandbox's network, and " + why + "; " + again +
                       "allow it with set_network, \"allow\": [..., \"" + place + "\"].";
    return verdict;
}

awaitable<policy_decision> network_questions::ask(std::string sandbox, std::shared_ptr<const egress_ticket> ticket,
                                                  host who, std::uint16_t port)
{
    auto& of = sandboxes_[sandbox];
    const std::string place = who.with_port(port);
    auto question = open_question(of, place);
    if (!question) {
        auto decided = known(of, place);
        if (decided) co_return std::move(*decided);
        std::string obstacle;
        auto* const asking = caller_in(of, obstacle);
        if (asking == nullptr) co_return refusal(place, "nobody to ask", "nobody was asked, because " + obstacle);
        question = std::make_shared<network_question>();
        question->place = place;
        question->who = who;
        question->port = port;
        question->ticket = ticket;
        of.open.push_back(question);
        asking->take(question);
    }
    while (!question->verdict) co_await question->settled.wait();
    co_return *question->verdict;
}

std::optional<policy_decision> network_questions::known(const of_sandbox& of, const std::string& place) const
{
    const auto refused = of.refused.find(place);
    if (refused != of.refused.end()) return refused->second;
    for (const auto* each : of.callers)
        if (const auto* verdict = each->refusal_of(place)) return *verdict;
    return std::nullopt;
}

std::shared_ptr<network_question> network_questions::open_question(const of_sandbox& of, const std::string& place) const
{
    const auto at = std::ranges::find_if(of.open, [&](const auto& each) { return each->place == place; });
    return at == of.open.end() ? nullptr : *at;
}

// The latest one: its user is the most likely to wait for what its program does.
network_caller* network_questions::caller_in(const of_sandbox& of, std::string& obstacle) const
{
    obstacle = "no call runs in the sandbox now that could ask the user";
    if (!of.callers.empty()) obstacle = of.callers.back()->obstacle();
    const auto asks =
        std::find_if(of.callers.rbegin(), of.callers.rend(), [](const auto* each) { return each->obstacle().empty(); });
    return asks == of.callers.rend() ? nullptr : *asks;
}

void network_questions::leave(network_caller& ended)
{
    const auto at = sandboxes_.find(ended.sandbox());
    std::erase(at->second.callers, &ended);
    const auto& of = at->second;
    if (!ended.allowed().empty()) changed_(ended.sandbox());
    if (of.callers.empty() && of.open.empty() && of.refused.empty() && of.notes.empty()) sandboxes_.erase(at);
}

std::vector<std::string> network_questions::allowed_for_runs(const std::string& sandbox) const
{
    std::vector<std::string> places;
    const auto at = sandboxes_.find(sandbox);
    if (at == sandboxes_.end()) return places;
    for (const auto* each : at->second.callers)
        places.insert(places.end(), each->allowed().begin(), each->allowed().end());
    return places;
}

std::vector<std::string> network_questions::refused(const std::string& sandbox) const
{
    std::vector<std::string> places;
    const auto at = sandboxes_.find(sandbox);
    if (at == sandboxes_.end()) return places;
    for (const auto& [place, verdict] : at->second.refused) places.push_back(place);
    return places;
}

std::vector<std::string> network_questions::take_notes(const std::string& sandbox)
{
    const auto at = sandboxes_.find(sandbox);
    return at == sandboxes_.end() ? std::vector<std::string>() : std::exchange(at->second.notes, {});
}

// A place that the record cannot take is allowed for the run, because the user has said yes.
void network_questions::allow(network_caller& by, const network_question& question, bool lasting)
{
    if (question.verdict) return;
    const std::string place = question.place;
    lasting = lasting && keep_(by.sandbox(), place);
    if (!lasting) by.allowed_.insert(place);
    egress_audit(*question.ticket, question.who, question.port, "approved", lasting ? "sandbox" : "run", {},
                 by.request());
    sandboxes_[by.sandbox()].notes.push_back("The user allowed " + place +
                                             (lasting ? " for this sandbox." : " for this run."));
    changed_(by.sandbox());
    policy_decision allowed;
    allowed.allowed = true;
    allowed.rule = "user";
    settle(by.sandbox(), place, allowed);
}

void network_questions::refuse(network_caller& by, const network_question& question)
{
    if (question.verdict) return;
    policy_decision verdict;
    verdict.rule = "user";
    verdict.sentence = question.place + " is refused: the user was asked and did not allow it; do without it.";
    sandboxes_[by.sandbox()].refused[question.place] = verdict;
    settle(by.sandbox(), question.place, verdict);
}

void network_questions::settle(const std::string& sandbox, const std::string& place, const policy_decision& verdict)
{
    auto& of = sandboxes_[sandbox];
    const auto question = open_question(of, place);
    if (!question) return;
    std::erase(of.open, question);
    question->verdict = verdict;
    question->settled.notify();
}

void network_questions::settle_all(of_sandbox& of, const std::string& why)
{
    for (const auto& each : std::exchange(of.open, {})) {
        each->verdict = refusal(each->place, "no answer", why);
        each->settled.notify();
    }
}

void network_questions::forget_refusals(const std::string& sandbox)
{
    if (const auto at = sandboxes_.find(sandbox); at != sandboxes_.end()) at->second.refused.clear();
}

void network_questions::renew(const std::string& sandbox)
{
    const auto at = sandboxes_.find(sandbox);
    if (at == sandboxes_.end()) return;
    at->second.refused.clear();
    settle_all(at->second, "the sandbox has another network now");
}

void network_questions::forget(const std::string& sandbox)
{
    renew(sandbox);
    const auto at = sandboxes_.find(sandbox);
    if (at != sandboxes_.end() && at->second.callers.empty()) sandboxes_.erase(at);
}

void network_questions::stop()
{
    for (auto& [id, of] : sandboxes_) settle_all(of, "the server stops");
}

}  // namespace cmcp
