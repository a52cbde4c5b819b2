#include "cluster/remote_observer.hpp"

#include "async/task_group.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/request_id.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/client_meta.hpp"
#include "mcp/revision.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds first_pause(500), longest_pause(15'000);

/// Ends with its last handle.
struct observation {
    observation(asio::any_io_executor executor, change observed)
        : what(std::move(observed)), listens(std::move(executor))
    {
    }

    const change what;
    std::function<void(json::object params)> heard;
    bool missed = true;  // something may have changed unheard, also before the member hears of this at all
    std::chrono::milliseconds pause = first_pause;
    task_group listens;
};

std::string listen_request(const change& what)
{
    const bool is_task = what.method == task_changed;
    json::object capabilities;
    if (is_task) capabilities["extensions"] = json::object{{tasks_extension, json::object()}};
    json::object meta;
    declare_client(meta, std::move(capabilities), {});
    json::object filter;
    filter[is_task ? "taskIds" : "resourceSubscriptions"] = json::array{json::string(what.uri)};
    json::object params;
    params["_meta"] = std::move(meta);
    params["notifications"] = std::move(filter);
    return jsonrpc::encode_request(1, "subscriptions/listen", params);
}

// The first message acknowledges.
awaitable<bool> hear(std::weak_ptr<observation> whose, std::string text)
{
    const auto held = whose.lock();
    if (!held) co_return false;
    const auto message = jsonrpc::read_object(text);
    const bool tells = view_of(message, "method") == held->what.method;
    const bool missed = std::exchange(held->missed, false) && held->what.method == resource_updated;
    held->pause = first_pause;
    auto params = object_of(message, "params");
    params.erase("_meta");
    if (tells || missed) held->heard(std::move(params));
    co_return true;
}

std::chrono::milliseconds next_pause(const std::weak_ptr<observation>& whose)
{
    const auto held = whose.lock();
    if (!held) return {};
    held->missed = true;
    return std::exchange(held->pause, std::min(2 * held->pause, longest_pause));
}

awaitable<> listen(std::weak_ptr<observation> whose, std::shared_ptr<member_links> links, member_message message)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    while (!whose.expired()) {
        try {
            message_taker take = std::bind_front(hear, whose);
            co_await send_to_member(links, message, std::move(take));
        } catch (const member_unreachable&) {
            // it is asked again
        }
        timer.expires_after(next_pause(whose));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

}  // namespace

std::shared_ptr<void> observe_at_member(asio::any_io_executor executor, std::shared_ptr<member_links> links,
                                        member_message message, const change& what,
                                        std::function<void(json::object params)> heard)
{
    auto fresh = std::make_shared<observation>(executor, what);
    fresh->heard = std::move(heard);
    message.text = listen_request(what);
    message.request_id = log::next_id('r');
    fresh->listens.spawn("a subscription at another server", listen(fresh, std::move(links), std::move(message)));
    return fresh;
}

}  // namespace cmcp
