#include "cluster/forwarder.hpp"

#include "async/task_group.hpp"
#include "cluster/member_request.hpp"
#include "http/http_reply.hpp"
#include "http/member_caller.hpp"
#include "http/route.hpp"
#include "log/log.hpp"
#include "text/ascii.hpp"

#include <utility>

namespace cmcp {

namespace http = boost::beast::http;

namespace {

// Fields in whose place this server says who the client is, and those for its own page.
bool is_replaced(std::string_view name, bool foreign)
{
    if (is_any_of(name, {"expect", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}))
        return true;
    if (equal_ignoring_case(name.substr(0, 12), "cmcp-member-")) return true;
    return !foreign && is_any_of(name, {"authorization", "cookie", "origin", "dpop", "sec-fetch-site"});
}

std::string caller_of(const http_request& request)
{
    member_caller caller;
    caller.who = request.who;
    caller.address = request.address;
    caller.host = request.forwarded_host;
    caller.secure = request.secure;
    return written(caller);
}

constexpr std::chrono::seconds patience_with_nodes(10);  // longer than it takes to agree that one is gone

class member_rules final : public relay_rules {
public:
    member_rules(exchange& x, std::string name) : x_(x), from_(x.request()), name_(std::move(name)) {}

    relayed_request_head request() const override
    {
        relayed_request_head to;
        to.version(11);
        to.method_string(from_.method);
        to.target(from_.path + (from_.query.empty() ? "" : "?") + from_.query);
        const auto connection = from_.header("connection").value_or("");
        const bool foreign = is_foreign();
        for (const auto& [name, value] : from_.fields)
            if (!is_hop_by_hop(name, connection) && !is_replaced(name, foreign))
                to.insert({name.data(), name.size()}, {value.data(), value.size()});
        if (from_.client_id().empty() && !from_.target->relays) to.set("x-request-id", from_.id);
        to.set(member_caller_field, caller_of(from_));
        if (!wants_websocket(from_)) return to;
        to.set(http::field::connection, "Upgrade");
        to.set(http::field::upgrade, "websocket");
        return to;
    }

    std::string head_of_answer(const relayed_answer_head& from) const override
    {
        std::string head = status_line(from);
        const auto connection = relayed_value(from, http::field::connection);
        for (const auto& each : from) {
            const std::string_view name(each.name_string().data(), each.name_string().size());
            const std::string_view value(each.value().data(), each.value().size());
            if (is_hop_by_hop(name, connection) || equal_ignoring_case(name, "strict-transport-security")) continue;
            append_field(head, name, value);
        }
        return head;
    }

    std::string subject() const override { return "The server " + name_ + " of this cluster"; }
    std::chrono::seconds patience() const override { return {}; }  // calls last as long as they last

private:
    // The program in a sandbox has its own credentials and origins.
    bool is_foreign() const { return from_.target != nullptr && from_.target->relays && !x_.has_own_token(); }

    exchange& x_;
    const http_request& from_;
    std::string name_;
};

using answers_of_members = std::shared_ptr<std::vector<member_answer>>;

// The answer of one member, which stays empty where there is none.
awaitable<> fetch_answer(std::shared_ptr<member_links> links, member_request request, answers_of_members into,
                         std::size_t place)
{
    const std::string node = request.to.name;
    try {
        auto reply = co_await ask_member(std::move(links), std::move(request));
        into->at(place) = {node, reply.status, std::move(reply.body)};
    } catch (const member_unreachable& failure) {
        log::debug("answer_without_member", {{"member", node}, {"reason", failure.what()}});
    }
}

}  // namespace

const cluster_member* forwarder::owner_of(const http_request& request) const
{
    if (request.member != nullptr || request.target == nullptr || !request.target->handle) return nullptr;
    return places_.owner_of(request.target->handle(request));
}

bool forwarder::is_on_its_way(const http_request& request) const
{
    return request.target != nullptr && request.target->handle &&
           places_.is_on_its_way(request.target->handle(request));
}

bool forwarder::is_elsewhere(const http_request& request) const
{
    return owner_of(request) != nullptr || is_on_its_way(request);
}

awaitable<> forwarder::refuse(exchange& x, std::string problem)
{
    x.close_after();  // its body may be unread
    auto refusal = error_reply(502, problem + " Try again; what it keeps is there when it is back.", "NodeUnreachable");
    refusal.with("Retry-After", "5");
    co_await x.reply(std::move(refusal));
}

// Nothing of the request has been read where its member was not reached, so it can still be served elsewhere.
awaitable<bool> forwarder::pass_on(exchange& x)
{
    const auto handle = x.request().target->handle(x.request());
    const auto* owner = owner_of(x.request());
    const auto is_over = [until = std::chrono::steady_clock::now() + patience_with_nodes] {
        return std::chrono::steady_clock::now() > until;
    };
    outcome end{{}, false};
    if (owner != nullptr) end = co_await pass_to(x, *owner);
    while (!end.is_reached) {
        std::optional<std::string> place;
        const std::string name = owner == nullptr ? members_.own().name : owner->name;
        try {
            place = co_await places_.find_again(handle, name);
        } catch (const member_unreachable& failure) {
            end.problem = failure.what();
        }
        if (place && place->empty()) co_return false;
        owner = place ? members_.other(*place) : nullptr;
        if (owner == nullptr || is_over()) break;
        end = co_await pass_to(x, *owner);
    }
    if (!end.problem.empty() && x.status() == 0) co_await refuse(x, std::move(end.problem));
    co_return true;
}

awaitable<forwarder::outcome> forwarder::pass_to(exchange& x, cluster_member owner)
{
    std::unique_ptr<secure_stream> stream;
    outcome done;
    try {
        stream = co_await links_->take(owner);
    } catch (const member_unreachable& failure) {
        done = {failure.what(), false};
    }
    if (!stream) co_return done;
    const member_rules rules(x, owner.name);
    auto end = co_await relay(x, *stream, rules);
    if (end.may_go_on) links_->give_back(owner, std::move(stream));
    done.problem = std::move(end.failure);
    co_return done;
}

std::vector<std::string> forwarder::others() const
{
    std::vector<std::string> names;
    for (const auto& each : members_.others()) names.push_back(each.name);
    return names;
}

// Answers that come too late are for nobody, so they have a place of their own.
awaitable<std::vector<member_answer>> forwarder::ask(const http_request& by, member_question question)
{
    const auto answers = std::make_shared<std::vector<member_answer>>();
    for (const auto& node : question.nodes) answers->push_back({node, 0, {}});
    const auto executor = co_await asio::this_coro::executor;
    task_group asking(executor);
    for (std::size_t i = 0; i != question.nodes.size(); ++i) {
        const auto* to = members_.other(question.nodes[i]);
        if (to == nullptr) continue;
        member_request request{*to, caller_of(by), question.method, question.target, by.id, question.patience};
        asking.spawn("question to another server", fetch_answer(links_, std::move(request), answers, i));
    }
    co_await asking.wait_idle(question.patience);
    co_return *answers;
}

}  // namespace cmcp
