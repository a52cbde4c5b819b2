#include "local/run_report.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>

namespace cmcp::sandbox {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr const char* kinds_of_denials[] = {"read", "write", "connect", "call"};

std::string place_of(const denial& what)
{
    const bool is_address_v6 = what.target.find(':') != std::string::npos;
    const std::string host = is_address_v6 ? "[" + what.target + "]" : what.target;
    return what.port == 0 ? host : host + ":" + std::to_string(what.port);
}

// Ports of the web need not be named.
std::string host_entry(const denial& what)
{
    const bool is_of_web = what.port == 0 || what.port == 80 || what.port == 443;
    return is_of_web && what.target.find(':') == std::string::npos ? what.target : place_of(what);
}

std::string quoted(const std::string& word)
{
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:*@%+=,[]";
    if (word.find_first_not_of(plain) == std::string::npos) return word;
    std::string text = "'";
    for (const char each : word) text += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return text + "'";
}

// What can be allowed: a new file is allowed by its folder.
std::string nearest_existing(const std::string& path)
{
    std::error_code absent;
    fs::path at = path;
    while (at.has_relative_path() && !fs::exists(at, absent)) at = at.parent_path();
    return at.string();
}

std::string shown(const std::string& path, const std::string& home)
{
    std::string text = !home.empty() && path.starts_with(home + "/") ? "~" + path.substr(home.size()) : path;
    std::ranges::replace_if(
        text, [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
    return text;
}

std::string advice_on(const denial& what, const std::string& home)
{
    switch (what.what) {
        case denial::kind::connect:
            return "was refused: connect to " + place_of(what) + "; allow it with --net " + quoted(host_entry(what));
        case denial::kind::write: {
            const std::string place = nearest_existing(what.target);
            const std::string refused = "was refused: write to " + shown(what.target, home);
            return place == "/" ? refused : refused + "; allow it with --write " + quoted(place);
        }
        case denial::kind::read:
            if (is_secret(what.target, home))
                return "was refused: read " + shown(what.target, home) +
                       ", which may hold credentials; only allowRead of a policy shows it";
            return "was refused: read " + shown(what.target, home) + "; allow it with --read " + quoted(what.target);
        case denial::kind::call:
            return "was refused: " + shown(what.target, home);
    }
    return {};
}

void add_once(std::vector<std::string>& to, const std::string& entry)
{
    if (std::ranges::find(to, entry) == to.end()) to.push_back(entry);
}

}  // namespace

bool is_secret(const std::string& path, const std::string& home)
{
    return std::ranges::any_of(secret_paths(), [&](const std::string& each) {
        const std::string secret = each.starts_with("~/") ? home + each.substr(1) : each;
        return path == secret || path.starts_with(secret + "/");
    });
}

std::string json_line(const local_end& end)
{
    json::object line;
    line["cause"] = json::string(to_string(end.why));
    line["exit_code"] = end.exit_code;
    if (end.signal != 0) line["signal"] = end.signal;
    line["seconds"] = static_cast<double>(end.wall.count()) / 1000;
    json::array& denied = line["denied"].emplace_array();
    for (const denial& each : end.denied) {
        json::object one{{"kind", kinds_of_denials[static_cast<std::size_t>(each.what)]}};
        if (each.what == denial::kind::connect) {
            one["host"] = each.target;
            if (each.port != 0) one["port"] = each.port;
        } else {
            one[each.what == denial::kind::call ? "call" : "path"] = each.target;
        }
        denied.push_back(std::move(one));
    }
    json::array& notes = line["notes"].emplace_array();
    for (const auto& each : end.notes) notes.emplace_back(each);
    return json::serialize(line);
}

// A host tells more than a file, and a file more than a call, which programs often try and go on without.
std::string advice(const std::vector<denial>& denied, const std::string& home)
{
    for (const auto kind : {denial::kind::connect, denial::kind::write, denial::kind::read, denial::kind::call}) {
        const auto first = std::ranges::find(denied, kind, &denial::what);
        if (first == denied.end()) continue;
        std::string line = advice_on(*first, home);
        if (denied.size() > 1) line += " (and " + std::to_string(denied.size() - 1) + " more; --json lists them)";
        return line;
    }
    return {};
}

local_policy learned(local_policy policy, const std::vector<denial>& denied, const std::string& home)
{
    for (const denial& each : denied) {
        if (each.what == denial::kind::connect) add_once(policy.allowed_hosts, host_entry(each));
        if (each.what == denial::kind::call || is_secret(each.target, home)) continue;
        if (each.what == denial::kind::read) add_once(policy.allow_read, each.target);
        const std::string place = nearest_existing(each.target);
        if (each.what == denial::kind::write && place != "/") add_once(policy.allow_write, place);
    }
    return policy;
}

}  // namespace cmcp::sandbox
