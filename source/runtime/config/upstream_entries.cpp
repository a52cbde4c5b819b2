#include "config/load_settings.hpp"
#include "config/setting_text.hpp"
#include "config/upstream_entry.hpp"
#include "text/ascii.hpp"
#include "text/toml_library.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>

namespace cmcp {

namespace {

constexpr std::size_t most_upstreams = 64;
constexpr std::size_t longest_secret = 64 * 1024;
constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view digits = "0123456789";
constexpr std::array<std::string_view, 9> members{"url",     "command", "headers",    "env",    "image",
                                                  "network", "tools",   "principals", "timeout"};
// The protocol sets these.
constexpr std::array<std::string_view, 8> own_headers{"host",   "connection",      "content-length",    "content-type",
                                                      "accept", "accept-encoding", "transfer-encoding", "user-agent"};

bool only(std::string_view text, std::initializer_list<std::string_view> allowed)
{
    return std::ranges::all_of(text, [&](char c) {
        return std::ranges::any_of(allowed, [c](std::string_view set) { return set.find(c) != set.npos; });
    });
}

bool is_upstream_name(std::string_view name)
{
    return !name.empty() && name.size() <= 32 && lower.find(name[0]) != lower.npos && only(name, {lower, digits, "_"});
}

bool is_header_name(std::string_view name)
{
    const auto low = lower_case(name);
    return !name.empty() && only(name, {letters, digits, "!#$%&'*+-.^_`|~"}) && !low.starts_with("mcp-") &&
           std::ranges::find(own_headers, low) == own_headers.end();
}

bool is_variable_name(std::string_view name)
{
    return !name.empty() && only(name, {letters, digits, "_"}) && digits.find(name[0]) == digits.npos;
}

/// Reads one table [upstream.NAME].
class upstream_reader {
public:
    upstream_reader(std::string name, std::string_view file, const environment& variables,
                    std::vector<std::string>& secret_variables)
        : file_(file), variables_(variables), secret_variables_(secret_variables)
    {
        entry_.name = std::move(name);
    }

    upstream_entry read(const toml::node& node);

private:
    std::string location(const toml::node& at) const
    {
        return std::string(file_) + ":" + std::to_string(at.source().begin.line);
    }
    [[noreturn]] void refuse(std::string_view member, const toml::node& at, std::string_view must) const
    {
        throw config_error("upstream." + entry_.name + (member.empty() ? "" : "." + std::string(member)) + " (" +
                           location(at) + ") is not allowed: it must be " + std::string(must));
    }
    void take(std::string_view member, const toml::node& value);
    void check_together(const toml::table& table) const;
    std::string text(std::string_view member, const toml::node& value, std::string_view must) const;
    std::vector<std::string> list(std::string_view member, const toml::node& value, std::string_view must) const;
    upstream_entry::secrets secrets(std::string_view member, const toml::node& value, bool (*is_name)(std::string_view),
                                    std::string_view must);
    std::string resolved(const std::string& member, const toml::node& value, std::string_view text);
    std::string reference(const std::string& member, const toml::node& value, std::string_view name);
    std::string content(const std::string& member, const toml::node& value, const std::string& name) const;
    std::chrono::milliseconds seconds(const toml::node& value) const;

    upstream_entry entry_;
    std::string_view file_;
    const environment& variables_;
    std::vector<std::string>& secret_variables_;
};

upstream_entry upstream_reader::read(const toml::node& node)
{
    const auto* table = node.as_table();
    if (table == nullptr || !is_upstream_name(entry_.name))
        refuse({}, node, "a table [upstream.NAME] with a NAME of a-z, 0-9 and _ that begins with a letter, at most 32");
    entry_.origin = location(node);
    for (const auto& [key, value] : *table) take(std::string_view(key), value);
    check_together(*table);
    return std::move(entry_);
}

void upstream_reader::take(std::string_view member, const toml::node& value)
{
    constexpr std::string_view words = "a list of strings, for example [\"*\", \"!delete_*\"]";
    if (member == "url")
        entry_.url = text(member, value, "an http or https address, for example \"https://mcp.example.com/mcp\"");
    else if (member == "command")
        entry_.command = list(member, value, "a program with its arguments, for example [\"npx\", \"-y\", \"name\"]");
    else if (member == "headers")
        entry_.headers = secrets(member, value, is_header_name,
                                 "a table of header fields with texts, none of which the protocol sets itself");
    else if (member == "env")
        entry_.env = secrets(member, value, is_variable_name, "a table of variables with texts");
    else if (member == "image")
        entry_.image = text(member, value, "the name of an image, for example \"node:22-slim\"");
    else if (member == "network")
        entry_.network = list(member, value, "a list of hosts, for example [\"api.example.com\"]");
    else if (member == "tools")
        entry_.tools = list(member, value, words);
    else if (member == "principals")
        entry_.principals = list(member, value, "a list of names of callers, for example [\"*\"] or [\"alice\"]");
    else if (member == "timeout")
        entry_.timeout = seconds(value);
    else
        throw config_error("upstream." + entry_.name + "." + std::string(member) + " (" + location(value) +
                           ") is no known setting; the nearest is upstream." + entry_.name + "." +
                           std::string(nearest_of(members, member)));
}

void upstream_reader::check_together(const toml::table& table) const
{
    if (entry_.url.empty() == entry_.command.empty())
        refuse({}, table, "a table with either url or command, which tell where the server is");
    if (!entry_.url.empty() && !entry_.url.starts_with("https://") && !entry_.url.starts_with("http://"))
        refuse("url", *table.get("url"), "an http or https address");
    if (entry_.url.empty() && !entry_.headers.empty()) refuse("headers", *table.get("headers"), "beside a url");
    if (!entry_.url.empty() && !entry_.env.empty()) refuse("env", *table.get("env"), "beside a command");
    if (!entry_.url.empty() && !entry_.image.empty()) refuse("image", *table.get("image"), "beside a command");
    if (!entry_.url.empty() && !entry_.network.empty()) refuse("network", *table.get("network"), "beside a command");
}

std::string upstream_reader::text(std::string_view member, const toml::node& value, std::string_view must) const
{
    const auto* string = value.as_string();
    if (string == nullptr || string->get().empty() || string->get().size() > 4096 || kinds::has_control(string->get()))
        refuse(member, value, must);
    return string->get();
}

// A string is its words.
std::vector<std::string> upstream_reader::list(std::string_view member, const toml::node& value,
                                               std::string_view must) const
{
    std::vector<std::string> all;
    if (value.is_string()) {
        const auto words = text(member, value, must);
        for (const auto word : split(words, ' '))
            if (!word.empty()) all.emplace_back(word);
    } else if (const auto* items = value.as_array(); items != nullptr && items->size() <= 256) {
        for (const auto& item : *items) all.push_back(text(member, item, must));
    } else {
        refuse(member, value, must);
    }
    if (all.empty() && member != "network" && member != "principals") refuse(member, value, must);
    return all;
}

upstream_entry::secrets upstream_reader::secrets(std::string_view member, const toml::node& value,
                                                 bool (*is_name)(std::string_view), std::string_view must)
{
    const auto* table = value.as_table();
    if (table == nullptr || table->size() > 64) refuse(member, value, must);
    upstream_entry::secrets all;
    for (const auto& [key, item] : *table) {
        const std::string name{std::string_view(key)};
        const std::string full = std::string(member) + "." + name;
        const auto* text = item.as_string();
        if (!is_name(name) || text == nullptr) refuse(full, item, must);
        all.emplace_back(name, resolved(full, item, text->get()));
        if (kinds::has_control(all.back().second)) refuse(full, item, "a text without control characters");
    }
    return all;
}

std::string upstream_reader::resolved(const std::string& member, const toml::node& value, std::string_view text)
{
    std::string whole;
    for (auto at = text.find("${"); at != text.npos; at = text.find("${")) {
        const auto end = text.find('}', at);
        if (end == text.npos) refuse(member, value, "a text in which each ${ ends with }");
        whole += text.substr(0, at);
        whole += reference(member, value, text.substr(at + 2, end - at - 2));
        text.remove_prefix(end + 1);
    }
    return whole += text;
}

std::string upstream_reader::reference(const std::string& member, const toml::node& value, std::string_view name)
{
    constexpr std::string_view of_environment = "env:", of_file = "file:";
    if (name.starts_with(of_file)) return content(member, value, std::string(name.substr(of_file.size())));
    if (!name.starts_with(of_environment)) refuse(member, value, "a text with ${env:NAME} or ${file:/path} in it");
    const std::string variable(name.substr(of_environment.size()));
    const auto known = variables_.find(variable);
    if (known == variables_.end())
        refuse(member, value,
               "a variable of the environment that is set, which " + variable.substr(0, 100) + " is not");
    secret_variables_.push_back(variable);
    return known->second;
}

std::string upstream_reader::content(const std::string& member, const toml::node& value, const std::string& name) const
{
    std::ifstream in(name, std::ios::binary);
    std::error_code failure;
    if (!name.starts_with('/') || !std::filesystem::is_regular_file(name, failure) || !in)
        refuse(member, value, "the absolute path of a file that can be read, which " + name + " is not");
    std::string bytes(longest_secret, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return kinds::bare(bytes);
}

std::chrono::milliseconds upstream_reader::seconds(const toml::node& value) const
{
    const auto number = value.value<double>();
    if (!value.is_number() || !number || !(*number >= 1) || !(*number <= 3600))
        refuse("timeout", value, "a number of seconds from 1 to 3600");
    return std::chrono::milliseconds(static_cast<std::int64_t>(*number * 1000));
}

std::size_t line_of(const upstream_entry& entry)
{
    const auto digits_at = entry.origin.rfind(':') + 1;
    return static_cast<std::size_t>(std::stoull(entry.origin.substr(digits_at)));
}

}  // namespace

upstream_list parse_upstreams(std::string_view text, std::string_view name, const environment& variables)
{
    upstream_list all;
    toml::table file;
    try {
        file = toml::parse(text, name);
    } catch (const toml::parse_error& problem) {
        throw config_error(std::string(name) + ":" + std::to_string(problem.source().begin.line) + ": " +
                           std::string(problem.description()));
    }
    const auto* section = file.get("upstream");
    if (section == nullptr) return all;
    const auto* table = section->as_table();
    if (table == nullptr || table->size() > most_upstreams)
        throw config_error("upstream (" + std::string(name) + ":" + std::to_string(section->source().begin.line) +
                           ") is not allowed: it must be at most 64 tables [upstream.NAME]");
    for (const auto& [key, node] : *table) {
        upstream_reader reader(std::string(std::string_view(key)), name, variables, all.secret_variables);
        all.entries.push_back(reader.read(node));
    }
    std::ranges::stable_sort(all.entries, {}, line_of);
    return all;
}

}  // namespace cmcp
