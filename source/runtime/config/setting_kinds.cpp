#include "config/setting_kinds.hpp"

#include "config/principal_limits.hpp"
#include "config/setting_text.hpp"
#include "text/ascii.hpp"
#include "text/number.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace cmcp::kinds {

namespace {

// "1.25" as 1250; nothing when it is no such number.
std::optional<std::uint64_t> thousandths(std::string_view text)
{
    const auto point = text.find('.');
    const auto whole = read_number(text.substr(0, point));
    if (!whole || *whole > 1'000'000'000) return std::nullopt;
    if (point == std::string_view::npos) return *whole * 1000;
    std::string decimals(text.substr(point + 1));
    if (decimals.empty() || decimals.size() > 3) return std::nullopt;
    decimals.resize(3, '0');
    const auto part = read_number(decimals);
    if (!part) return std::nullopt;
    return *whole * 1000 + *part;
}

std::vector<std::string> split(std::string_view text, bool keep_empty = false)
{
    std::vector<std::string> items;
    if (bare(text).empty()) return items;
    for (std::size_t start = 0; start <= text.size();) {
        const auto comma = std::min(text.find(',', start), text.size());
        std::string item = bare(text.substr(start, comma - start));
        if (keep_empty || !item.empty()) items.push_back(std::move(item));
        start = comma + 1;
    }
    return items;
}

bool command_name(const std::string& word)
{
    return !word.empty() && word != "." && word != ".." && word.find_first_of("/ ") == std::string::npos &&
           !has_control(word);
}

bool name_character(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool visible(unsigned char c) { return c > 0x20 && c < 0x7f; }

std::pair<std::string, std::string> name_and_token(std::string_view item)
{
    const auto equals = std::min(item.find('='), item.size());
    const auto name = item.substr(0, equals);
    const auto token = item.substr(std::min(equals + 1, item.size()));
    const bool good = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), name_character) &&
                      token.size() >= 16 && std::all_of(token.begin(), token.end(), visible);
    if (!good) {
        throw bad_value(
            "name=token pairs separated by commas: names of a-z, 0-9, _ and -, each once, "
            "tokens of at least 16 visible characters");
    }
    return {std::string(name), std::string(token)};
}

}  // namespace

bool flag(std::string_view text)
{
    const std::string word = lower_case(bare(text));
    for (const char* yes : {"true", "1", "yes", "on"}) {
        if (word == yes) return true;
    }
    for (const char* no : {"false", "0", "no", "off"}) {
        if (word == no) return false;
    }
    throw bad_value("true or false");
}

std::uint64_t number::operator()(std::string_view text) const
{
    const auto value = read_number(bare(text));
    if (value && *value >= least_ && *value <= most_) return *value * unit_;
    throw bad_value("a whole number from " + std::to_string(least_) + " to " + std::to_string(most_));
}

parser<std::chrono::milliseconds> seconds(std::chrono::milliseconds least, std::chrono::milliseconds most)
{
    return [least, most](std::string_view text) {
        const std::chrono::milliseconds time(thousandths(bare(text)).value_or(most.count() + 1));
        if (time >= least && time <= most) return time;
        throw bad_value("a number of seconds from " + printed(least) + " to " + printed(most));
    };
}

parser<std::string> plain_text(std::size_t longest)
{
    return [longest](std::string_view value) {
        if (value.size() > longest || has_control(value)) throw bad_value("text without control characters");
        return bare(value);
    };
}

parser<std::string> choice(std::vector<std::string> allowed)
{
    return [allowed = std::move(allowed)](std::string_view text) {
        const auto same = [word = bare(text)](const std::string& each) { return equal_ignoring_case(each, word); };
        const auto at = std::find_if(allowed.begin(), allowed.end(), same);
        if (at == allowed.end()) throw bad_value("one of " + joined(allowed, ", "));
        return *at;
    };
}

std::string log_level(std::string_view text)
{
    const std::string word = upper_case(bare(text));
    const std::string known = word == "WARN" ? "WARNING" : word == "CRITICAL" ? "ERROR" : word;
    return choice({"DEBUG", "INFO", "WARNING", "ERROR"})(known);
}

std::string log_format(std::string_view text)
{
    // config.toml of other servers says use_structured_format = true or false.
    const std::string word = lower_case(bare(text));
    return word == "true" ? "json" : word == "false" ? "text" : choice({"text", "json"})(word);
}

std::string absolute_path(std::string_view text)
{
    std::string name = bare(text);
    if (!name.starts_with('/') || has_control(name)) throw bad_value("an absolute path");
    return name;
}

std::filesystem::path file_path(std::string_view text)
{
    std::string name = bare(text);
    if (has_control(name)) throw bad_value("a path without control characters");
    return name;
}

std::filesystem::path folder(std::string_view text)
{
    const auto name = file_path(text);
    if (name.empty()) throw bad_value("a path");
    return std::filesystem::absolute(name).lexically_normal();
}

namespace {

// An empty list often means everything or everybody, so it is one only where nothing is written.
setting_types::words split_some(std::string_view text)
{
    auto words = split(text);
    if (words.empty() && text.find(',') != std::string_view::npos)
        throw bad_value("words separated by commas; here are commas without a word");
    return words;
}

}  // namespace

setting_types::words word_list(std::string_view text)
{
    if (has_control(text)) throw bad_value("words separated by commas");
    return split_some(text);
}

setting_types::words reach_out_list(std::string_view text)
{
    auto all = word_list(text);
    for (const auto& each : all)
        if (each != "network" && each != "sandboxes" && each != "workspace" && (each != "none" || all.size() > 1))
            throw bad_value("network, sandboxes and workspace, separated by commas, or none");
    return all;
}

std::string scope_list(std::string_view text)
{
    std::string all = plain_text()(text);
    std::string each;
    for (std::istringstream words(all); words >> each;)
        if (!each.starts_with("mcp:")) throw bad_value("scopes such as mcp:read mcp:run, between blanks");
    return all;
}

setting_types::words image_list(std::string_view text)
{
    auto names = word_list(text);
    for (const auto& name : names)
        if (const auto equals = name.find('='); equals != std::string::npos && name.substr(equals) != "=native")
            throw bad_value("names of images separated by commas, each alone or with =native behind it");
    return names;
}

setting_types::words quota_list(std::string_view text)
{
    auto words = word_list(text);
    std::set<std::pair<std::string_view, const limit_name*>> seen;
    for (const auto& word : words) {
        try {
            const auto named = parse_named_limit(word);
            if (!seen.emplace(named.principal, named.limit.of).second)
                throw std::invalid_argument(word + " names a limit that " + std::string(named.principal) +
                                            " has here already");
        } catch (const std::invalid_argument& wrong) {
            throw bad_value(std::string("quotas separated by commas: ") + wrong.what());
        }
    }
    return words;
}

std::string encryption_key(std::string_view text)
{
    constexpr std::size_t digits = 64;
    std::string key = bare(text);
    const bool is_key = key.size() == digits && key.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (!key.empty() && !is_key) throw bad_value("64 hexadecimal digits; `openssl rand -hex 32` makes them");
    return lower_case(key);
}

setting_types::words command_names(std::string_view text)
{
    auto words = split_some(text);
    const bool all = words.size() == 1 && words.front() == "*";
    const bool star_among_others = !all && std::find(words.begin(), words.end(), "*") != words.end();
    if (!std::all_of(words.begin(), words.end(), command_name) || star_among_others)
        throw bad_value("names of programs without a path, separated by commas, or * alone for all");
    return words;
}

setting_types::words extensions(std::string_view text)
{
    auto words = split(text, true);
    for (auto& word : words) {
        word = lower_case(word.starts_with('.') ? word.substr(1) : word);
        if (word.find_first_of("/ ") != std::string::npos || has_control(word)) {
            throw bad_value(
                "file extensions separated by commas (an empty one allows names without extension), or * for all");
        }
    }
    return words;
}

setting_types::tokens bearer_tokens(std::string_view text)
{
    setting_types::tokens tokens;
    for (const auto& item : split_some(text)) {
        auto pair = name_and_token(item);
        for (const auto& [name, token] : tokens) {
            if (name == pair.first || token == pair.second) throw bad_value("each name and each token only once");
        }
        tokens.push_back(std::move(pair));
    }
    return tokens;
}

setting_types::tokens token_profiles(std::string_view text)
{
    setting_types::tokens profiles;
    for (const auto& item : split(text)) {
        const auto equals = std::min(item.find('='), item.size());
        std::string name = item.substr(0, equals), profile = item.substr(std::min(equals + 1, item.size()));
        const auto same = [&name](const auto& known) { return known.first == name; };
        if (name.empty() || profile.empty() || std::any_of(profiles.begin(), profiles.end(), same))
            throw bad_value("name=profile pairs separated by commas, with names of MCP_AUTH_TOKENS, each once");
        profiles.emplace_back(std::move(name), std::move(profile));
    }
    return profiles;
}

std::string printed(bool value) { return value ? "true" : "false"; }

std::string printed(std::chrono::milliseconds value)
{
    std::string text = std::to_string(value.count() / 1000);
    if (value.count() % 1000 == 0) return text;
    std::string decimals = std::to_string(1000 + value.count() % 1000).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return text + "." + decimals;
}

std::string printed(const std::string& value) { return value; }

std::string printed(const std::filesystem::path& value) { return value.string(); }

std::string printed(const setting_types::words& value) { return joined(value, ","); }

std::string printed(const setting_types::tokens& value)
{
    setting_types::words pairs;
    for (const auto& [name, token] : value) pairs.push_back(name + "=" + token);
    return joined(pairs, ",");
}

}  // namespace cmcp::kinds
