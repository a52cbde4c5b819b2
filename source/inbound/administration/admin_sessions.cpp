#include "administration/admin_sessions.hpp"

#include "mcp/call_view.hpp"

#include <chrono>

namespace cmcp {

namespace {

double unix_seconds(std::chrono::system_clock::time_point when)
{
    return std::chrono::duration<double>(when.time_since_epoch()).count();
}

json::object row_of(const http_session& session)
{
    using std::chrono::steady_clock, std::chrono::system_clock;
    const auto& who = session.state->who;
    const auto unused = std::chrono::duration_cast<system_clock::duration>(steady_clock::now() - session.last_used);
    return {{"id", who.session_tag},
            {"principal", who.principal},
            {"client", client_name(who)},
            {"revision", to_string(who.protocol)},
            {"transport", session.sse ? "sse" : "streamable_http"},
            {"address", session.address},
            {"started", unix_seconds(session.started)},
            {"last_used", unix_seconds(system_clock::now() - unused)},
            {"requests", session.requests}};
}

}  // namespace

json::object sessions_of(const session_store& store, const admin_viewer& by)
{
    constexpr std::size_t most = 1000;
    json::array rows;
    std::uint64_t total = 0;
    const auto all = store.all();
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
        if (!by.sees((*each)->state->who.principal)) continue;
        if (++total <= most) rows.push_back(row_of(**each));
    }
    return {{"sessions", std::move(rows)}, {"total", total}};
}

bool end_session(session_store& store, const admin_viewer& by, std::string_view tag)
{
    for (const auto& each : store.all()) {
        if (each->state->who.session_tag != tag || !by.sees(each->state->who.principal)) continue;
        store.drop(each);
        return true;
    }
    return false;
}

}  // namespace cmcp
