#include "cluster/member_calls.hpp"

#include "async/sized_work.hpp"
#include "cluster/remote_observer.hpp"
#include "config/settings.hpp"
#include "http/member_caller.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "mcp/client_meta.hpp"

#include <boost/system/system_error.hpp>

#include <functional>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds patience_with_lists(5000);

// While a call runs, the member sends a sign of life that often (MCP_KEEP_ALIVE).
std::chrono::milliseconds longest_silence(const settings& config)
{
    return 2 * config.keep_alive + std::chrono::milliseconds(10'000);
}

[[noreturn]] void throw_error(const json::object& error)
{
    std::optional<json::value> data;
    if (const auto* sent = error.if_contains("data")) data = *sent;
    if (flag_of(object_of(error, "data"), moved_mark))
        throw has_moved(text_of(error, "message"), text_of(object_of(error, "data"), moved_to_mark));
    throw rpc_error(static_cast<int>(number_of(error, "code", rpc_code::internal_error)), text_of(error, "message"),
                    std::move(data));
}

/// The messages of one answer: what comes before the response goes to the client as it is.
class answer_receiver {
public:
    answer_receiver(std::shared_ptr<message_sink> client, std::weak_ptr<blocking_pool> pool, std::string payer)
        : client_(std::move(client)), pool_(std::move(pool)), payer_(std::move(payer))
    {
    }

    awaitable<bool> take(std::string text)
    {
        const auto size = text.size();
        auto read = [text = std::move(text)]() mutable {
            auto message = jsonrpc::read_object(text);
            return std::pair(std::move(message), std::move(text));
        };
        auto* const pool = pool_.lock().get();
        auto [message, same] = co_await by_size(pool, payer_, size, std::move(read));
        if (message.contains("method")) {
            outgoing passed;
            passed.method = text_of(message, "method");
            if (auto* params = message.if_contains("params"); params != nullptr && params->is_object())
                passed.params = std::move(params->get_object());
            passed.text = std::move(same);
            if (client_) co_await client_->send(std::move(passed));
            co_return true;
        }
        response_ = std::move(message);
        co_return false;
    }

    json::object result(const cluster_member& of)
    {
        if (response_.contains("error")) throw_error(object_of(response_, "error"));
        auto* whole = response_.if_contains("result");
        if (whole == nullptr || !whole->is_object())
            throw node_unreachable("The server " + of.name + " of this cluster has ended its answer without a result.",
                                   node_unreachable::cause::unanswered);
        return std::move(whole->get_object());
    }

private:
    std::shared_ptr<message_sink> client_;
    std::weak_ptr<blocking_pool> pool_;
    std::string payer_;
    json::object response_;
};

awaitable<bool> take_into(answer_receiver* receiver, std::string text) { return receiver->take(std::move(text)); }

}  // namespace

member_calls::member_calls(asio::any_io_executor executor, const settings& config, const members& all,
                           handle_locations& places, std::shared_ptr<member_links> links, list_changes& lists,
                           shared_holdings& holdings)
    : executor_(std::move(executor)),
      config_(config),
      members_(all),
      places_(places),
      links_(std::move(links)),
      lists_(lists),
      holdings_(holdings)
{
}

awaitable<std::optional<std::string>> member_calls::find_again(std::string handle, std::string node,
                                                               movable_request::moment tried)
{
    return places_.find_again(std::move(handle), std::move(node), tried);
}

bool member_calls::is_own(std::string_view node) const { return node == members_.own().name; }

// Callers without names share their sandboxes with nobody they know, so the latest one is that of a server.
awaitable<std::string> member_calls::node_with(const caller& who, std::string name)
{
    std::string node;
    if (!(who.principal.empty() && name.empty())) node = co_await holdings_.node_with(who.principal, std::move(name));
    co_return node;
}

// A sandbox that ends with its session is where the session is, unless another server has what it needs.
awaitable<std::string> member_calls::node_for_new(const caller& who, std::string name, wish needs)
{
    std::string node;
    const bool is_taken_here = !name.empty() && holdings_.has_own(who.principal, name);
    if (is_taken_here) co_return node;
    if (!name.empty()) node = co_await holdings_.node_with(who.principal, std::move(name));
    if (needs.image.empty()) needs.image = config_.sandbox_default_image;
    if (node.empty() && (!who.session_ends || !needs.labels.empty())) node = holdings_.place_sandbox(needs);
    co_return node;
}

bool member_calls::has_default_of_session(const caller& who) const
{
    return config_.workspace_per_session && !who.session.empty();
}

std::string member_calls::default_sandbox_of(const caller& who) const
{
    return has_default_of_session(who) ? std::string() : places_.default_sandbox_of(who.principal);
}

// A claim counts more than what the ring says.
awaitable<std::string> member_calls::home_of(const caller& who)
{
    const auto handle = default_sandbox_of(who);
    auto claimed = places_.home_by_claim(handle);
    if (!claimed.empty()) {
        const bool is_here = claimed == members_.own().name && !places_.is_on_its_way(handle);
        co_return is_here ? std::string() : claimed;
    }
    if (has_default_of_session(who)) co_return known_home_of(who);
    auto home = co_await holdings_.home_of(who.principal);
    co_return home == members_.own().name ? std::string() : home;
}

std::string member_calls::known_home_of(const caller& who) const
{
    if (has_default_of_session(who)) return {};
    auto home = places_.home_by_claim(places_.default_sandbox_of(who.principal));
    if (home.empty()) home = holdings_.known_home_of(who.principal);
    return home == members_.own().name ? std::string() : home;
}

std::string member_calls::owner_of(std::string_view handle) const
{
    if (places_.is_on_its_way(handle)) return members_.own().name;
    return places_.owner_of(handle);
}

member_message member_calls::message_for(const cluster_member& to, const caller& who, bool is_program) const
{
    auto login_of_caller = std::make_shared<login>();
    login_of_caller->principal = who.principal;
    login_of_caller->scopes = who.scopes;
    login_of_caller->credential = "member " + members_.own().name;
    member_caller said;
    said.who = std::move(login_of_caller);
    said.of_message = true;
    said.address = "member " + members_.own().name;
    said.revision = to_string(who.protocol);
    said.profile = who.profile;
    said.server = who.address;
    said.is_program = is_program;
    return {to, written(said), {}, {}, longest_silence(config_)};
}

awaitable<json::object> member_calls::call(running_request& request, std::string node, shared_params params)
{
    const auto to = places_.member(node);
    auto message = message_for(to, *request.who, request.is_program);
    message.request_id = request.ids.own;
    const auto size = jsonrpc::is_larger(*params, most_on_loop) ? most_on_loop + 1 : 0;
    auto write = [method = request.method, params = std::move(params)] {
        return jsonrpc::encode_request(1, method, *params);
    };
    const std::string payer = request.who->principal;
    auto* const pool = pool_.lock().get();
    message.text = co_await by_size(pool, payer, size, std::move(write));
    answer_receiver receiver(request.reply, pool_, payer);
    message_taker take = std::bind_front(take_into, &receiver);
    std::optional<node_unreachable> problem;
    try {
        co_await send_to_member(links_, std::move(message), std::move(take));
    } catch (const member_unreachable& failure) {
        problem.emplace(failure.what(),
                        failure.was_asked ? node_unreachable::cause::unanswered : node_unreachable::cause::silent);
    }
    if (problem) throw node_unreachable(*problem);
    co_return receiver.result(to);
}

namespace {

using shared_answers = std::shared_ptr<std::vector<other_nodes::answer>>;

// The list of one member, which stays empty where it does not answer.
awaitable<> fetch_list(std::shared_ptr<member_links> links, member_message message, shared_answers into,
                       std::size_t place, std::weak_ptr<blocking_pool> pool)
{
    answer_receiver receiver(nullptr, std::move(pool), blocking_pool::server);
    const auto to = message.to;
    message_taker take = std::bind_front(take_into, &receiver);
    try {
        co_await send_to_member(std::move(links), std::move(message), std::move(take));
        into->at(place).result = receiver.result(to);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        log::info("list_without_member", {{"member", to.name}, {"reason", failure.what()}});
    }
}

json::object params_of_list(const running_request& request)
{
    json::object params = request.params;
    json::object meta;
    declare_client(meta, {}, request.who->client_info);
    params["_meta"] = std::move(meta);
    return params;
}

}  // namespace

awaitable<std::vector<other_nodes::answer>> member_calls::ask_all(running_request& request)
{
    std::set<std::string> nobody;
    return ask_but(request, std::move(nobody));
}

awaitable<std::vector<other_nodes::answer>> member_calls::ask_holders(running_request& request)
{
    auto without = co_await holdings_.without_any(request.who->principal);
    auto answers = co_await ask_but(request, std::move(without));
    co_return answers;
}

awaitable<std::vector<other_nodes::answer>> member_calls::ask_but(running_request& request,
                                                                  std::set<std::string> without)
{
    auto answers = std::make_shared<std::vector<answer>>();
    const auto lost = members_.lost();  // one that is lost meanwhile is among those that are asked
    for (const auto& each : members_.others())
        if (!without.contains(each.name)) answers->push_back({each.name, {}});
    task_group asking(executor_);
    const auto params = params_of_list(request);
    for (std::size_t i = 0; i != answers->size(); ++i) {
        auto message = message_for(*members_.other(answers->at(i).node), *request.who, true);
        message.request_id = request.ids.own;
        message.text = jsonrpc::encode_request(1, request.method, params);
        message.silence = patience_with_lists;
        asking.spawn("list of another server", fetch_list(links_, std::move(message), answers, i, pool_));
    }
    co_await asking.wait_idle(patience_with_lists);
    for (const auto& name : lost) answers->push_back({name, {}});
    co_return std::move(*answers);
}

std::shared_ptr<void> member_calls::observe(const caller& who, std::string node, const change& what,
                                            std::function<void(json::object params)> heard)
{
    const auto* to = members_.other(node);
    if (to == nullptr) return nullptr;
    return observe_at_member(executor_, links_, message_for(*to, who, false), what, std::move(heard));
}

}  // namespace cmcp
