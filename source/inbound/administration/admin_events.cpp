#include "administration/admin_events.hpp"

#include "jsonrpc/write_json.hpp"
#include "transport/sse_frame.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(500);
constexpr int looks_for_usage = 4;  // figures of use are counted over all principals

void append(std::string& events, std::string_view name, const json::object& data)
{
    append_event(events, name, jsonrpc::write_json(data), std::nullopt);
}

// The time that a run takes changes always, and clients count it by themselves.
std::string without_times(json::object state)
{
    if (auto* runs = state.if_contains("runs"))
        for (auto& each : runs->as_array()) each.as_object().erase("seconds");
    if (auto* machine = state.if_contains("machine"))
        for (const auto* name : {"load", "memory_bytes"}) machine->as_object().erase(name);
    return jsonrpc::write_json(state);
}

// Events of a stream since its last look.
struct feed_state {
    std::string runs;
    std::string usage;
    std::string health;
    list_positions place;
    int looks = 0;
};

void append_if_new(std::string& events, std::string_view name, const json::object& state, std::string& last)
{
    auto now = without_times(state);
    if (now == last) return;
    append(events, name, state);
    last = std::move(now);
}

void append_news(std::string& events, const admin_news& news)
{
    for (const auto& each : news.ends) append(events, "end", each.as_object());
    for (const auto& each : news.decisions) append(events, "egress", each.as_object());
    if (news.dropped != 0) append(events, "dropped", {{"count", news.dropped}});
}

// A login may end while its stream lasts: its key is revoked, its token's time is over.
awaitable<bool> goes_on(admin_feed& feed, const feed_state& seen)
{
    if (!feed.admits || seen.looks % looks_for_usage != 0) co_return true;
    const bool admitted = co_await feed.admits(feed.by);
    co_return admitted;
}

awaitable<std::string> look(admin_feed& feed, feed_state& seen)
{
    std::string events;
    const auto runs = co_await feed.server.runs(feed.by);
    append_if_new(events, "runs", runs, seen.runs);
    if (seen.looks++ % looks_for_usage == 0) {
        auto known = feed.connections();
        const auto usage = co_await feed.server.usage(feed.by, std::move(known));
        append_if_new(events, "usage", usage, seen.usage);
        const auto health = co_await feed.server.health();
        append_if_new(events, "health", health, seen.health);
    }
    append_news(events, feed.server.since(feed.by, seen.place));
    co_return events;
}

}  // namespace

std::shared_ptr<admin_streams::stream> admin_streams::open()
{
    std::erase_if(open_, [](const auto& each) { return each.expired(); });
    if (open_.size() >= most) return nullptr;
    auto opened = std::make_shared<stream>();
    open_.insert(opened);
    return opened;
}

void admin_streams::end_all()
{
    for (const auto& each : open_)
        if (const auto open = each.lock()) open->end();
}

std::size_t admin_streams::size() const
{
    return static_cast<std::size_t>(std::ranges::count_if(open_, [](const auto& each) { return !each.expired(); }));
}

awaitable<> stream_admin_events(exchange& x, std::shared_ptr<admin_streams::stream> own, admin_feed feed)
{
    x.watch([weak = std::weak_ptr(own)] {
        if (const auto open = weak.lock()) open->end();
    });
    feed_state seen;
    seen.place = feed.server.now();
    auto events = co_await look(feed, seen);
    exchange::fields fields{{"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}};
    bool delivered = co_await x.begin_stream("text/event-stream", std::move(fields), std::move(events));
    auto body = x.body();
    auto written = event::clock::now();
    while (delivered && !own->over) {
        co_await own->ended.wait(event::clock::now() + between_looks);
        if (own->over) break;
        const bool admitted = co_await goes_on(feed, seen);
        if (!admitted) break;
        events = co_await look(feed, seen);
        if (events.empty() && event::clock::now() - written >= feed.keep_alive) events = ": keep-alive\n\n";
        if (events.empty()) continue;
        delivered = co_await body.write(events);
        written = event::clock::now();
    }
    if (delivered && !x.gone()) co_await body.end();
}

}  // namespace cmcp
