#include "jupyter/api_call.hpp"

#include <utility>

// The part of jupyter_api that serves sessions.
namespace cmcp::jupyter {

namespace {

constexpr std::size_t most_sessions = 1000;  // of a caller: each list holds all
constexpr std::size_t longest_word = 4096;   // path, name or type of one

void check(std::string_view what, const std::string& text)
{
    if (text.size() <= longest_word) return;
    throw http_refusal(400, std::string(what) + " has " + std::to_string(text.size()) +
                                " bytes; a session's has at most " + std::to_string(longest_word) + ".");
}

void check(const session& one)
{
    check("path", one.path);
    check("name", one.name);
    check("type", one.type);
}

}  // namespace

awaitable<http_reply> jupyter_api::about_sessions(call from)
{
    if (from.segments.size() > 1) {
        auto id = from.segments[1];
        auto reply = co_await about_session(std::move(from), std::move(id));
        co_return reply;
    }
    if (!from.is("POST")) {
        json::array all;
        for (const auto& each : kernels_.sessions(from.who)) all.push_back(each.model());
        co_return from.read(all);
    }
    const auto wish = from.body();
    session begun{{}, text_of(wish, "path"), text_of(wish, "name"), text_of(wish, "type"), {}};
    if (begun.path.empty()) throw http_refusal(400, "path must name the session's notebook or console.");
    check(begun);
    if (const auto* there = kernels_.session_at(from.who, begun.path)) co_return json_reply(201, there->model());
    if (kernels_.sessions(from.who).size() >= most_sessions)
        throw http_refusal(429,
                           "There are " + std::to_string(most_sessions) + " sessions; delete those that are over.");
    if (begun.name.empty()) begun.name = name_in(begun.path);
    begun.uses = co_await kernel_for(from.who, object_of(wish, "kernel"), begun.path);
    const auto& entry = kernels_.begin_session(std::move(begun));
    co_return json_reply(201, entry.model());
}

awaitable<http_reply> jupyter_api::about_session(call from, std::string id)
{
    const auto there = kernels_.find_session(from.who, id);
    http_reply reply = nothing();
    if (from.is("DELETE"))
        co_await kernels_.end(from.who, there.uses->at().id);
    else if (from.is("PATCH"))
        reply = co_await change_session(std::move(from), std::move(id));
    else
        reply = from.read(there.model());
    co_return reply;
}

// A session that takes another kernel ends the one that it had.
awaitable<http_reply> jupyter_api::change_session(call from, std::string id)
{
    const auto wish = from.body();
    auto changed = kernels_.find_session(from.who, id);
    if (wish.contains("path")) changed.path = text_of(wish, "path");
    if (wish.contains("name")) changed.name = text_of(wish, "name");
    if (wish.contains("type")) changed.type = text_of(wish, "type");
    check(changed);
    const auto before = changed.uses;
    if (!object_of(wish, "kernel").empty())
        changed.uses = co_await kernel_for(from.who, object_of(wish, "kernel"), changed.path);
    kernels_.find_session(from.who, id) = changed;
    if (changed.uses != before) co_await kernels_.end(from.who, before->at().id);
    co_return json_reply(200, changed.model());
}

}  // namespace cmcp::jupyter
