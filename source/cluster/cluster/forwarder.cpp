#include "cluster/forwarder.hpp"

#include "async/task_group.hpp"
#include "cluster/member_answer.hpp"
#include "cluster/member_request.hpp"
#include "http/body_stream.hpp"
#include "http/http_reply.hpp"
#include "http/member_caller.hpp"
#include "http/relay.hpp"
#include "http/route.hpp"
#include "log/log.hpp"
#include "mcp/node_trials.hpp"
#include "text/ascii.hpp"

#include <utility>

namespace cmcp {

namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds time_to_connect_between(1);

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

// In the answer of a member that knows that the sandbox is at another one.
std::string place_in(const relayed_answer_head& answer)
{
    if (answer.result_int() != 421) return {};
    const auto place = answer.find(boost::beast::string_view(member_place_field));
    return place == answer.end() ? std::string() : std::string(place->value());
}

class member_rules final : public relay_rules {
public:
    /// `past`: the member that the other one is to pass it on to; empty: none.
    member_rules(exchange& x, std::string name, std::string past = {})
        : x_(x), from_(x.request()), name_(std::move(name)), past_(std::move(past))
    {
    }

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
        to.set(member_caller_field, is_between() ? from_.header(member_caller_field).value_or("") : caller_of(from_));
        if (!past_.empty()) to.set(member_past_field, past_);
        if (!wants_websocket(from_)) return to;
        to.set(http::field::connection, "Upgrade");
        to.set(http::field::upgrade, "websocket");
        return to;
    }

    std::string head_of_answer(const relayed_answer_head& from) const override
    {
        return head_of_member_answer(from, from_);
    }

    std::string subject() const override { return "The server " + name_ + " of this cluster"; }
    std::chrono::seconds patience() const override { return {}; }  // calls last as long as they last
    bool asks_for_body() const override { return true; }
    std::string other_place(const relayed_answer_head& answer) const override { return place_in(answer); }

private:
    // This server only passes on what another member asks of a third one.
    bool is_between() const { return from_.member != nullptr && from_.header(member_past_field).has_value(); }

    // The program in a sandbox has its own credentials and origins.
    bool is_foreign() const { return from_.target != nullptr && from_.target->relays && !x_.has_own_token(); }

    exchange& x_;
    const http_request& from_;
    std::string name_, past_;
};

// Answers a member that the sandbox is at `place`.
awaitable<> point_to(exchange& x, std::string place)
{
    auto refusal = error_reply(421, "The sandbox is at another server.", "NodeUnreachable");
    refusal.with(std::string(member_place_field), std::move(place));
    if (x.request().stream && !x.request().stream->complete()) x.close_after();
    co_await x.reply(std::move(refusal));
}

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

/// A request on its way to the member that has what it names. Lives in the frame of pass_along().
class forwarder::passed_request final : public movable_request {
public:
    passed_request(forwarder& by, exchange& x, std::string handle) : by_(by), x_(x), handle_(std::move(handle)) {}

    // Nothing of a request is lost that its member has not taken.
    awaitable<> try_at(std::string node) override
    {
        if (is_torn()) co_return co_await ask_again();
        const auto owner = by_.places_.member(node);
        auto route = co_await open(owner);
        const member_rules rules(x_, node, route.past);
        auto end = co_await relay(x_, route.over->stream(), rules);
        if (end.other_place == node)
            throw node_unreachable(route.past.empty() ? about_to_stop(node) : unreachable_past(node));
        if (!end.other_place.empty())
            throw has_moved("The sandbox has moved from the server " + node + ".", std::move(end.other_place));
        if (end.may_go_on) by_.links_->give_back(owner, std::move(route));
        if (!end.failure.empty()) throw node_unreachable(end.failure, cause::unanswered);
    }

    awaitable<std::optional<std::string>> find_again(std::string node, moment tried) override
    {
        return by_.places_.find_again(handle_, std::move(node), tried);
    }

    // RFC 9110, 9.2.1.
    bool may_repeat() const override
    {
        const auto& request = x_.request();
        const auto& only_reads = request.target->only_reads;
        const bool reads = request.method == "GET" || request.method == "HEAD" || (only_reads && only_reads(request));
        return x_.status() == 0 && reads && !wants_websocket(request);
    }

    /// Whether bytes of the body are gone, so that nobody has the whole request any more.
    bool is_torn() const { return x_.request().stream && x_.request().stream->begun(); }

    awaitable<> refuse(const node_unreachable& problem)
    {
        const bool is_of_storage = problem.type != "NodeUnreachable";
        const bool may_have_run = problem.why == cause::unanswered;
        const std::string advice = is_of_storage  ? " Try again in a few seconds."
                                   : may_have_run ? " The request may have been carried out: look before you repeat it."
                                                  : " Try again; what it keeps is there when it is back.";
        auto refusal = error_reply(may_have_run ? 502 : 503, problem.what() + advice, problem.type);
        refusal.may_have_run = may_have_run;
        return answer(std::move(refusal.with("Retry-After", "5")));
    }

    awaitable<> ask_again()
    {
        auto refusal = error_reply(503, "The sandbox has just moved to another server: send the request again.",
                                   "NodeUnreachable");
        return answer(std::move(refusal.with("Retry-After", "1")));
    }

private:
    using cause = node_unreachable::cause;

    awaitable<> answer(http_reply refusal)
    {
        if (x_.status() != 0) co_return;
        x_.close_after();  // its body may be unread
        co_await x_.reply(std::move(refusal));
    }

    awaitable<member_route> open(cluster_member owner)
    {
        member_route route;
        std::string problem;
        try {
            route = co_await by_.links_->take(std::move(owner));
        } catch (const member_unreachable& failure) {
            problem = failure.what();
        }
        if (!route.over) throw node_unreachable(problem);
        co_return route;
    }

    forwarder& by_;
    exchange& x_;
    std::string handle_;
};

// Empty: this server, or nobody.
std::string forwarder::node_of(const http_request& request) const
{
    if (request.target == nullptr || !request.target->handle) return {};
    const auto handle = request.target->handle(request);
    if (places_.is_on_its_way(handle)) return members_.own().name;
    return request.member == nullptr ? places_.owner_of(handle) : std::string();
}

// A request of another member, which has not heard yet that the sandbox has gone from here.
bool forwarder::is_misdirected(const http_request& request) const
{
    return request.member != nullptr && request.target != nullptr && request.target->handle &&
           places_.is_misdirected(request.target->handle(request));
}

bool forwarder::is_elsewhere(const http_request& request) const
{
    return behind(request) != nullptr || !node_of(request).empty() || is_misdirected(request);
}

awaitable<bool> forwarder::pass_on(exchange& x)
{
    if (const auto* to = behind(x.request())) {
        co_await pass_between(x, *to);
        co_return true;
    }
    auto handle = x.request().target->handle(x.request());
    if (!node_of(x.request()).empty()) co_return co_await pass_along(x, std::move(handle));
    auto place = places_.owner_of(handle);
    co_await point_to(x, std::move(place));
    co_return true;
}

awaitable<> forwarder::turn_away(exchange& x)
{
    const auto* to = behind(x.request());
    return point_to(x, to != nullptr ? to->name : members_.own().name);
}

// Null: it is no request that a member could not bring to the other one.
const cluster_member* forwarder::behind(const http_request& request) const
{
    return request.member == nullptr ? nullptr : members_.other(request.header(member_past_field).value_or(""));
}

// Over a connection of its own, because one that waits may lead to a server that stands still.
awaitable<> forwarder::pass_between(exchange& x, cluster_member to)
{
    std::unique_ptr<http_connection> connection;
    try {
        connection = co_await links_->connect(to, time_to_connect_between);
    } catch (const member_unreachable& failure) {
        log::info("not_passed_between", {{"member", to.name}, {"reason", failure.what()}});
    }
    std::string place = to.name, failure;
    if (connection) {
        const member_rules rules(x, to.name);
        const auto under_way = links_->noted(to.name, *connection);
        auto end = co_await relay(x, connection->stream(), rules);
        place = std::move(end.other_place);
        failure = std::move(end.failure);
    }
    if (!place.empty()) co_await point_to(x, std::move(place));
    if (failure.empty() || x.status() != 0) co_return;
    auto refusal = error_reply(502, failure, "NodeUnreachable");
    refusal.may_have_run = true;
    x.close_after();
    co_await x.reply(std::move(refusal));
}

awaitable<bool> forwarder::pass_along(exchange& x, std::string handle)
{
    passed_request request(*this, x, std::move(handle));
    bool is_here = false;
    std::optional<node_unreachable> problem;
    try {
        co_await try_nodes(request, node_of(x.request()));
    } catch (const found_here&) {
        is_here = true;
    } catch (const node_unreachable& failure) {
        problem = failure;
    }
    const bool is_torn = request.is_torn();
    if (is_here && !is_torn) co_return false;
    using cause = node_unreachable::cause;
    const bool moves = is_here || (problem && (problem->why == cause::elsewhere || problem->why == cause::coming));
    if (moves)
        co_await request.ask_again();
    else if (problem)
        co_await request.refuse(*problem);
    co_return true;
}

std::vector<std::string> forwarder::others() const
{
    std::vector<std::string> names;
    for (const auto& each : members_.others()) names.push_back(each.name);
    names.insert(names.end(), members_.lost().begin(), members_.lost().end());
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
        if (to == nullptr || !members_.has(to->name)) continue;
        member_request request{*to, caller_of(by), question.method, question.target, by.id, question.patience};
        asking.spawn("question to another server", fetch_answer(links_, std::move(request), answers, i));
    }
    co_await asking.wait_idle(question.patience);
    co_return *answers;
}

}  // namespace cmcp
