#include "config/setting_makers.hpp"

#include "config/value_parsers.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp::makers {

namespace {

bool has_control(std::string_view value)
{
    return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool command_name(const std::string& word)
{
    return !word.empty() && word != "." && word != ".." && word.find('/') == std::string::npos && !has_control(word) &&
           word.find(' ') == std::string::npos;
}

void check_commands(const std::vector<std::string>& words)
{
    const bool all = words.size() == 1 && words.front() == "*";
    const bool star_among_others = !all && std::find(words.begin(), words.end(), "*") != words.end();
    if (!std::all_of(words.begin(), words.end(), command_name) || star_among_others) {
        throw bad_value("names of programs without a path, separated by commas, or * alone for all");
    }
}

std::string extension(const std::string& word)
{
    const std::string bare = lower_case(word.starts_with('.') ? word.substr(1) : word);
    if (bare.find_first_of("/ ") != std::string::npos || has_control(bare)) {
        throw bad_value(
            "file extensions separated by commas (an empty one allows names without extension), or * for all");
    }
    return bare;
}

// A mirror's address may hold a password.
std::string without_user(const std::string& address)
{
    const auto host = address.find("//") + 2;
    const auto at = address.substr(0, address.find('/', host)).rfind('@');
    return at == std::string::npos ? address : address.substr(0, host) + "***" + address.substr(at);
}

}  // namespace

conversion text(std::string settings::*member, std::size_t longest)
{
    return {[=](settings& into, std::string_view value) {
                if (value.size() > longest || has_control(value)) throw bad_value("text without control characters");
                into.*member = trimmed(value, values::blanks);
            },
            [=](const settings& from) { return from.*member; }};
}

conversion host(std::string settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                const std::string name(trimmed(value, values::blanks));
                const bool bad =
                    name.empty() || name.size() > 253 || name.find_first_of(" /\\@?#[]") != std::string::npos;
                if (bad || has_control(name))
                    throw bad_value("an IP address or a host name of this machine, for example 127.0.0.1 or 0.0.0.0");
                into.*member = name;
            },
            [=](const settings& from) { return from.*member; }};
}

conversion absolute(std::string settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                const std::string name(trimmed(value, values::blanks));
                if (!name.starts_with('/') || has_control(name)) throw bad_value("an absolute path");
                into.*member = name;
            },
            [=](const settings& from) { return from.*member; }};
}

conversion engine(std::string settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                const std::string name(trimmed(value, values::blanks));
                const bool known = name == "none" || name == "podman" || name == "docker";
                if ((!known && !name.starts_with('/')) || has_control(name))
                    throw bad_value("none, podman, docker, or the absolute path of an engine's Unix socket");
                into.*member = name;
            },
            [=](const settings& from) { return from.*member; }};
}

conversion choice(std::string settings::*member, std::vector<std::string> allowed)
{
    return {[=](settings& into, std::string_view value) { into.*member = values::parse_choice(value, allowed); },
            [=](const settings& from) { return from.*member; }};
}

conversion log_level()
{
    return {[](settings& into, std::string_view value) {
                const std::string word = values::upper(trimmed(value, values::blanks));
                const std::string known = word == "WARN" ? "WARNING" : word == "CRITICAL" ? "ERROR" : word;
                into.log_level = values::parse_choice(known, {"DEBUG", "INFO", "WARNING", "ERROR"});
            },
            [](const settings& from) { return from.log_level; }};
}

conversion log_format()
{
    // config.toml of other servers says use_structured_format = true or false.
    return {[](settings& into, std::string_view value) {
                const std::string word = lower_case(trimmed(value, values::blanks));
                into.log_format = word == "true"    ? "json"
                                  : word == "false" ? "text"
                                                    : values::parse_choice(word, {"text", "json"});
            },
            [](const settings& from) { return from.log_format; }};
}

conversion flag(bool settings::*member)
{
    return {[=](settings& into, std::string_view value) { into.*member = values::parse_bool(value); },
            [=](const settings& from) { return std::string(from.*member ? "true" : "false"); }};
}

conversion port(std::uint16_t settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                into.*member = static_cast<std::uint16_t>(values::parse_number(value, 0, 65'535));
            },
            [=](const settings& from) { return std::to_string(from.*member); }};
}

conversion path(std::filesystem::path settings::*member, bool make_absolute)
{
    return {[=](settings& into, std::string_view value) {
                const std::string name(trimmed(value, values::blanks));
                if (has_control(name)) throw bad_value("a path without control characters");
                if (make_absolute && name.empty()) throw bad_value("a path");
                into.*member =
                    make_absolute ? std::filesystem::absolute(name).lexically_normal() : std::filesystem::path(name);
            },
            [=](const settings& from) { return (from.*member).string(); }};
}

conversion list(std::vector<std::string> settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                if (has_control(value)) throw bad_value("words separated by commas");
                into.*member = values::parse_list(value);
            },
            [=](const settings& from) { return values::print_list(from.*member); }};
}

conversion commands(std::vector<std::string> settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                auto words = values::parse_list(value);
                check_commands(words);
                into.*member = std::move(words);
            },
            [=](const settings& from) { return values::print_list(from.*member); }};
}

conversion extensions(std::vector<std::string> settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                std::vector<std::string> bare;
                for (const auto& word : values::parse_list(value, true)) bare.push_back(extension(word));
                into.*member = std::move(bare);
            },
            [=](const settings& from) { return values::print_list(from.*member); }};
}

conversion tokens()
{
    return {[](settings& into, std::string_view value) { into.auth_tokens = values::parse_tokens(value); },
            [](const settings& from) {
                std::vector<std::string> pairs;
                for (const auto& [name, token] : from.auth_tokens) pairs.push_back(name + "=" + token);
                return values::print_list(pairs);
            }};
}

conversion url(std::string settings::*member)
{
    return {[=](settings& into, std::string_view value) {
                const std::string address(trimmed(value, values::blanks));
                const bool web = address.starts_with("https://") || address.starts_with("http://");
                if (!web || has_control(address) || address.find(' ') != std::string::npos)
                    throw bad_value("an http or https URL");
                into.*member = address;
            },
            [=](const settings& from) { return without_user(from.*member); }};
}

conversion url_or_none(std::string settings::*member)
{
    auto [parse, print] = url(member);
    return {[=, filled = std::move(parse)](settings& into, std::string_view value) {
                if (trimmed(value, values::blanks).empty()) return (into.*member).clear();
                filled(into, value);
            },
            std::move(print)};
}

conversion seconds(std::chrono::milliseconds settings::*member, std::chrono::milliseconds least,
                   std::chrono::milliseconds most)
{
    return {[=](settings& into, std::string_view value) { into.*member = values::parse_seconds(value, least, most); },
            [=](const settings& from) { return values::print_seconds(from.*member); }};
}

template <class T>
conversion number(T settings::*member, std::uint64_t least, std::uint64_t most, std::uint64_t unit)
{
    return {[=](settings& into, std::string_view value) {
                into.*member = static_cast<T>(values::parse_number(value, least, most) * unit);
            },
            [=](const settings& from) { return std::to_string(from.*member / unit); }};
}

// std::uint64_t and std::size_t are one type on 64-bit Linux.
template conversion number(std::size_t settings::*, std::uint64_t, std::uint64_t, std::uint64_t);

}  // namespace cmcp::makers
