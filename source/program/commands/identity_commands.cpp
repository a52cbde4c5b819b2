#include "commands/commands.hpp"
#include "commands/identity_common.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "identity/token_rules.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/act_record.hpp"
#include "text/time_text.hpp"

#include <chrono>
#include <iostream>
#include <stdexcept>

namespace cmcp::command {

namespace {

std::string state_of(const key_record& key)
{
    const auto day = [](double when) { return utc_text(static_cast<std::time_t>(when), "%Y-%m-%d %H:%M"); };
    if (key.revoked != 0) return "revoked " + day(key.revoked);
    if (key.expires != 0 && key.expires <= seconds_since_1970()) return "expired " + day(key.expires);
    return (key.expires == 0 ? "without end" : "until " + day(key.expires)) +
           (key.used == 0 ? ", never used" : ", used " + day(key.used));
}

// Only this output ever holds the secret.
int show_new(const new_key& fresh, bool json)
{
    const auto& [key, record] = fresh;
    if (json) {
        auto row = describe(record);
        row["key"] = key.text();
        std::cout << jsonrpc::write_json(row) << '\n';
        return 0;
    }
    std::cout << key.text() << '\n';
    std::cerr << "This is shown once. " << record.principal << " sends the header \"Authorization: Bearer "
              << key.text() << "\".\n";
    return 0;
}

int create(identity_store& store, const identity_line& line, const settings& config, bool json)
{
    const key_order wanted{line.what, line.scopes, line.profile, line.networks, line.lasts, line.note, line.limits};
    const bool first = !store.has_keys() && !config.callers_have_names();
    act_record act(config, "key create");
    const auto fresh = make_key(store, wanted, seconds_since_1970());
    act.done(fresh.record.id + " of " + fresh.record.principal + " " + fresh.record.scopes);
    if (first) std::cerr << "From its next start on the server takes only callers with a key or token.\n";
    return show_new(fresh, json);
}

key_record known_key(identity_store& store, const std::string& id)
{
    if (auto record = store.find(id)) return *record;
    throw config_error("there is no key " + id + "; `container-mcp key list` shows those that are there");
}

int rotate(identity_store& store, const std::string& id, const settings& config, bool json)
{
    auto record = known_key(store, id);
    if (record.revoked != 0) throw config_error("the key " + id + " was revoked; create a new one");
    act_record act(config, "key rotate");
    const auto fresh = make_key_like(store, std::move(record), seconds_since_1970());
    store.revoke(id, seconds_since_1970());
    act.done(id + " by " + fresh.record.id + " of " + fresh.record.principal);
    return show_new(fresh, json);
}

int list_keys(identity_store& store, bool json)
{
    json::array rows;
    for (const auto& key : store.keys()) {
        if (json)
            rows.push_back(describe(key));
        else
            std::cout << key.id << "  " << key.principal << "  " << state_of(key) << "  " << key.scopes
                      << (key.networks.empty() ? "" : "  from " + key.networks)
                      << (key.note.empty() ? "" : "  # " + key.note) << '\n';
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

int list_links(identity_store& store, bool json)
{
    json::array rows;
    for (const auto& link : store.links()) {
        if (json)
            rows.push_back({{"principal", link.principal}, {"issuer", link.issuer}, {"subject", link.subject}});
        else
            std::cout << link.principal << "  " << link.issuer << "  " << link.subject << '\n';
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

}  // namespace

int keys(const loaded_settings& loaded, const identity_line& line, bool json)
try {
    auto store = open_identities(loaded.values);
    if (line.action == "create") return create(store, line, loaded.values, json);
    if (line.action == "rotate") return rotate(store, line.what, loaded.values, json);
    if (line.action == "list") return list_keys(store, json);
    const auto record = known_key(store, line.what);
    act_record act(loaded.values, "key revoke");
    const bool ended = store.revoke(record.id, seconds_since_1970());
    act.done(record.id + " of " + record.principal);
    std::cout << "key " << record.id << " of " << record.principal
              << (ended ? " is revoked\n" : " was revoked before\n");
    return 0;
} catch (const std::invalid_argument& wrong) {
    throw config_error(wrong.what());
}

int principals(const loaded_settings& loaded, const identity_line& line, bool json)
try {
    auto store = open_identities(loaded.values);
    if (line.action == "list") return list_links(store, json);
    if (line.action == "link") {
        check_new_name(line.what);
        act_record act(loaded.values, "principal link");
        store.link({line.issuer, line.subject, line.what});
        act.done(line.what + " is " + line.subject + " of " + line.issuer);
        std::cout << line.what << " is " << line.subject << " of " << line.issuer << " from now on; what "
                  << principal_of(line.issuer, line.subject) << " made stays with that name\n";
        return 0;
    }
    act_record act(loaded.values, "principal unlink");
    const bool gone = store.unlink(line.issuer, line.subject);
    if (gone) act.done(line.subject + " of " + line.issuer);
    if (!gone) throw config_error("there is no such link; `container-mcp principal list` shows them");
    std::cout << "the link is gone: " << line.subject << " is " << principal_of(line.issuer, line.subject)
              << " again\n";
    return 0;
} catch (const std::invalid_argument& wrong) {
    throw config_error(wrong.what());
}

}  // namespace cmcp::command
