#include "config/networks.hpp"
#include "identity/identity_store.hpp"
#include "identity/token_rules.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/commands.hpp"
#include "server/sandbox_start.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <stdexcept>

namespace cmcp::command {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

identity_store open_store(const settings& config)
{
    prepare_sandbox_root(config);
    return identity_store(identity_store::file_in(config.sandbox_root));
}

double seconds_in(const std::string& time)
{
    struct unit {
        char letter;
        double seconds;
    };
    constexpr std::array units{unit{'m', 60}, unit{'h', 3600}, unit{'d', 86400}, unit{'y', 365.0 * 86400}};
    const auto number =
        time.empty() ? std::nullopt : read_number<double>(std::string_view(time).substr(0, time.size() - 1));
    const auto is_it = [&](const unit& each) { return each.letter == time.back(); };
    const auto* const unit_named = number ? std::find_if(units.begin(), units.end(), is_it) : units.end();
    if (unit_named == units.end() || *number <= 0)
        throw config_error("--lasts " + time + " is no time; a number with m, h, d or y behind it is one, as in 90d");
    return *number * unit_named->seconds;
}

// The name is that of a folder, and stands in logs.
void check_name(const std::string& name)
{
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), plain) &&
        !name.starts_with("oauth-"))
        return;
    throw config_error("\"" + name +
                       "\" cannot be the name of a principal: 1 to 64 of a-z, 0-9, '-', '_' and '.', "
                       "and not oauth-… at its beginning");
}

std::string checked_scopes(const std::string& text)
{
    const auto scopes = scope_set::parse(text);
    const auto words = static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
    std::string known = scopes.text();
    const auto understood = static_cast<std::size_t>(std::ranges::count(known, ' ')) + 1;
    if (scopes.empty() || words != understood)
        throw config_error("--scopes \"" + text + "\": the scopes are " + scope_set::all().text() +
                           ", each once, with one blank between them");
    return known;
}

std::string checked_networks(const std::string& text)
try {
    networks::parse(text);
    return text;
} catch (const std::invalid_argument& wrong) {
    throw config_error(std::string("--networks: ") + wrong.what());
}

json::value time_value(double when)
{
    if (when == 0) return nullptr;
    return json::value(timestamp(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(when)))));
}

json::object key_json(const key_record& key)
{
    return {{"id", key.id},
            {"principal", key.principal},
            {"scopes", key.scopes},
            {"profile", key.profile},
            {"networks", key.networks},
            {"note", key.note},
            {"created", time_value(key.created)},
            {"expires", time_value(key.expires)},
            {"revoked", time_value(key.revoked)},
            {"last_used", time_value(key.used)}};
}

std::string state_of(const key_record& key)
{
    const auto day = [](double when) { return utc_text(static_cast<std::time_t>(when), "%Y-%m-%d %H:%M"); };
    if (key.revoked != 0) return "revoked " + day(key.revoked);
    if (key.expires != 0 && key.expires <= now()) return "expired " + day(key.expires);
    return (key.expires == 0 ? "without end" : "until " + day(key.expires)) +
           (key.used == 0 ? ", never used" : ", used " + day(key.used));
}

// Only this output ever holds the secret.
int show_new(const api_key& key, const key_record& record, bool json)
{
    if (json) {
        auto row = key_json(record);
        row["key"] = key.text();
        std::cout << jsonrpc::write_json(row) << '\n';
        return 0;
    }
    std::cout << key.text() << '\n';
    std::cerr << "This is shown once. " << record.principal << " sends the header \"Authorization: Bearer "
              << key.text() << "\".\n";
    return 0;
}

int add_key(identity_store& store, key_record record, const settings& config, bool json)
{
    const bool first = !store.has_keys() && !config.callers_have_names();
    const auto key = api_key::make();
    record.id = key.id;
    record.digest = sha256_hex(key.secret);
    record.created = now();
    store.add(record);
    if (first) std::cerr << "From its next start on the server takes only callers with a key or token.\n";
    return show_new(key, record, json);
}

int create(identity_store& store, const identity_line& line, const settings& config, bool json)
{
    check_name(line.what);
    key_record record;
    record.principal = line.what;
    record.note = line.note;
    record.scopes = checked_scopes(line.scopes);
    record.profile = line.profile;
    record.networks = checked_networks(line.networks);
    if (!line.lasts.empty()) record.expires = now() + seconds_in(line.lasts);
    return add_key(store, std::move(record), config, json);
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
    record.used = 0;
    const int done = add_key(store, std::move(record), config, json);
    store.revoke(id, now());
    return done;
}

int list_keys(identity_store& store, bool json)
{
    json::array rows;
    for (const auto& key : store.keys()) {
        if (json)
            rows.push_back(key_json(key));
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
{
    auto store = open_store(loaded.values);
    if (line.action == "create") return create(store, line, loaded.values, json);
    if (line.action == "rotate") return rotate(store, line.what, loaded.values, json);
    if (line.action == "list") return list_keys(store, json);
    const auto record = known_key(store, line.what);
    const bool ended = store.revoke(record.id, now());
    std::cout << "key " << record.id << " of " << record.principal
              << (ended ? " is revoked\n" : " was revoked before\n");
    return 0;
}

int principals(const loaded_settings& loaded, const identity_line& line, bool json)
{
    auto store = open_store(loaded.values);
    if (line.action == "list") return list_links(store, json);
    if (line.action == "link") {
        check_name(line.what);
        store.link({line.issuer, line.subject, line.what});
        std::cout << line.what << " is " << line.subject << " of " << line.issuer << " from now on; what "
                  << principal_of(line.issuer, line.subject) << " made stays with that name\n";
        return 0;
    }
    const bool gone = store.unlink(line.issuer, line.subject);
    if (!gone) throw config_error("there is no such link; `container-mcp principal list` shows them");
    std::cout << "the link is gone: " << line.subject << " is " << principal_of(line.issuer, line.subject)
              << " again\n";
    return 0;
}

}  // namespace cmcp::command
