#include "identity/key_order.hpp"

#include "config/networks.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <stdexcept>

namespace cmcp {

namespace {

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
        throw std::invalid_argument("\"" + time +
                                    "\" is no time; a number with m, h, d or y behind it is one, as in 90d");
    return *number * unit_named->seconds;
}

std::string checked_scopes(const std::string& text)
{
    const auto scopes = scope_set::parse(text);
    const auto words = static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
    std::string known = scopes.text();
    const auto understood = static_cast<std::size_t>(std::ranges::count(known, ' ')) + 1;
    if (scopes.empty() || words != understood)
        throw std::invalid_argument("\"" + text + "\": the scopes are " + scope_set::all().text() +
                                    ", each once, with one blank between them");
    return known;
}

std::string checked_networks(const std::string& text)
{
    if (!text.empty() && networks::parse(text).empty())
        throw std::invalid_argument("\"" + text +
                                    "\" names no network; leave it out for a key that is good from anywhere");
    return text;
}

json::value time_value(double when)
{
    if (when == 0) return nullptr;
    return json::value(timestamp(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(when)))));
}

}  // namespace

void check_principal_name(const std::string& name)
{
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), plain)) return;
    throw std::invalid_argument("\"" + name.substr(0, 100) +
                                "\" cannot be the name of a principal: 1 to 64 of a-z, 0-9, '-', '_' and '.'");
}

void check_new_name(const std::string& name)
{
    check_principal_name(name);
    if (name.starts_with("oauth-"))
        throw std::invalid_argument("\"" + name +
                                    "\" cannot be the name of a key or a link: oauth-… are people of "
                                    "authorization servers");
}

std::vector<own_limit> parse_limits(const std::vector<std::string>& words)
{
    std::vector<own_limit> all;
    for (const auto& word : words) {
        const auto own = parse_limit(word);
        if (std::ranges::any_of(all, [&](const own_limit& each) { return each.of == own.of; }))
            throw std::invalid_argument("\"" + std::string(own.of->name) + "\" is given twice; name each limit once");
        all.push_back(own);
    }
    return all;
}

new_key make_key(identity_store& store, const key_order& wanted, double now)
{
    check_new_name(wanted.principal);
    key_record record;
    record.principal = wanted.principal;
    record.note = wanted.note;
    record.scopes = checked_scopes(wanted.scopes);
    record.profile = wanted.profile;
    record.networks = checked_networks(wanted.networks);
    if (!wanted.lasts.empty()) record.expires = now + seconds_in(wanted.lasts);
    for (const auto& own : parse_limits(wanted.limits))
        store.set_limit({wanted.principal, std::string(own.of->name), own.value});
    return make_key_like(store, std::move(record), now);
}

new_key make_key_like(identity_store& store, key_record like, double now)
{
    new_key fresh{api_key::make(), std::move(like)};
    fresh.record.id = fresh.key.id;
    fresh.record.digest = sha256_hex(fresh.key.secret);
    fresh.record.created = now;
    fresh.record.used = 0;
    store.add(fresh.record);
    return fresh;
}

json::object describe(const key_record& key)
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

}  // namespace cmcp
