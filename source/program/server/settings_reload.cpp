#include "server/settings_reload.hpp"

#include "config/setting.hpp"
#include "config/settings.hpp"
#include "egress/egress_policy.hpp"
#include "networks/network_lists.hpp"
#include "text/words.hpp"

namespace cmcp::command {

namespace {

// A server that knows no names would have to close the doors that it has opened to everybody.
bool can_change(const setting& entry, const settings& in_use, const settings& known, const settings& fresh)
{
    if (!entry.live) return false;
    if (entry.name != "MCP_AUTH_TOKENS") return true;
    return in_use.callers_have_names() && !known.auth_tokens.empty() && !fresh.auth_tokens.empty();
}

}  // namespace

json::object settings_reload::report::to_json() const
{
    return {{"changed", json::array(changed.begin(), changed.end())},
            {"needs_restart", json::array(needs_restart.begin(), needs_restart.end())}};
}

settings_reload::settings_reload(settings_sources from, settings known, settings& in_use, std::function<void()> applies)
    : from_(std::move(from)), in_use_(in_use), applies_(std::move(applies)), known_(std::move(known))
{
}

settings_reload::report settings_reload::run()
{
    report done;
    const settings fresh = load_settings(from_).values;
    egress_policy::from_settings(fresh);  // throws for an entry that is none
    network_lists::of(fresh);             // so does this
    for (const auto& entry : setting_table()) {
        const auto value = entry.print(fresh);
        if (value == entry.print(known_)) continue;
        const bool changes = can_change(entry, in_use_, known_, fresh);
        (changes ? done.changed : done.needs_restart).emplace_back(entry.name);
        if (!changes) continue;
        entry.parse(in_use_, value);
        entry.parse(known_, value);
    }
    if (fresh.upstreams != known_.upstreams) done.needs_restart.emplace_back("upstream");
    applies_();
    return done;
}

}  // namespace cmcp::command
