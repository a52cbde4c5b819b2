#include "connect/yaml_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::connect {

namespace {

std::string_view without_end(std::string_view line)
{
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    return line;
}

std::size_t spaces_before(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Blank, or a comment.
bool says_nothing(std::string_view line)
{
    const auto text = without_end(line);
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos || text[first] == '#';
}

// The text behind the name of a member, without a comment.
std::string_view value_behind(std::string_view line, std::size_t colon)
{
    auto text = without_end(line).substr(colon + 1);
    const auto first = text.find_first_not_of(" \t");
    text = first == std::string_view::npos ? std::string_view() : text.substr(first);
    if (text.starts_with('#')) return {};
    if (const auto comment = text.find(" #"); comment != std::string_view::npos) text = text.substr(0, comment);
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::string flow(const json::value& value)
{
    std::string out;
    if (const auto* object = value.if_object()) {
        for (const auto& [name, each] : *object)
            out += (out.empty() ? "" : ", ") + json::serialize(json::string(name)) + ": " + flow(each);
        return "{" + out + "}";
    }
    if (const auto* array = value.if_array()) {
        for (const auto& each : *array) out += (out.empty() ? "" : ", ") + flow(each);
        return "[" + out + "]";
    }
    return json::serialize(value);
}

std::string plain_name(const std::string& name)
{
    static const std::vector<std::string> words{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    std::string lower;
    for (const char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool begins_as_word = !name.empty() && ((lower[0] >= 'a' && lower[0] <= 'z') || name[0] == '_');
    return begins_as_word && std::ranges::find(words, lower) == words.end() ? name : '"' + name + '"';
}

}  // namespace

yaml_text::yaml_text(std::string text, std::string mapping) : mapping_(std::move(mapping))
{
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
        lines_.push_back(text.substr(at, end - at));
        at = end;
    }
    if (!lines_.empty() && lines_.front().ends_with("\r\n")) newline_ = "\r\n";
    find_mapping();
}

void yaml_text::refuse(std::size_t line, const char* why) const
{
    std::size_t before = 0;
    for (std::size_t i = 0; i < line; ++i) before += lines_[i].size();
    throw bad_text(text(), before, why);
}

// The name of a member that the line begins; empty: it begins none.
std::string yaml_text::name_at(std::size_t line) const
{
    const auto text = without_end(lines_[line]).substr(spaces_before(lines_[line]));
    if (text.empty()) return {};
    const char quote = text[0] == '"' || text[0] == '\'' ? text[0] : '\0';
    const auto end = quote != '\0' ? text.find(quote, 1) : text.find(':');
    if (end == std::string_view::npos) return {};
    const auto colon = quote != '\0' ? end + 1 : end;
    const bool is_member = colon < text.size() && text[colon] == ':' &&
                           (colon + 1 == text.size() || text[colon + 1] == ' ' || text[colon + 1] == '\t');
    if (!is_member) return {};
    return std::string(quote != '\0' ? text.substr(1, end - 1)
                                     : text.substr(0, text.find_last_not_of(' ', end - 1) + 1));
}

// Of the text as it is now.
void yaml_text::find_mapping()
{
    has_mapping_ = false;
    found_ = {};
    bool has_content = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        if (says_nothing(lines_[i]) || lines_[i].starts_with('%')) continue;
        if (lines_[i].starts_with("---") || lines_[i].starts_with("...")) {
            if (has_content) refuse(i, "a file of several documents cannot be edited here");
            continue;
        }
        const bool at_top = spaces_before(lines_[i]) == 0;
        if (at_top && (lines_[i][0] == '{' || lines_[i][0] == '[' || lines_[i][0] == '-' || lines_[i][0] == '\t'))
            refuse(i, "only a file with a line for each member can be edited here");
        if (!has_content && (!at_top || name_at(i).empty())) refuse(i, "this is no member of a YAML file");
        has_content = true;
        if (!at_top || name_at(i) != mapping_) continue;
        if (has_mapping_) refuse(i, "this member is there twice");
        has_mapping_ = true;
        found_.first = i + 1;
    }
    if (!has_mapping_) return;
    const auto value = value_behind(lines_[found_.first - 1], lines_[found_.first - 1].find(':'));
    if (!value.empty() && value != "{}" && value != "null" && value != "~")
        refuse(found_.first - 1, "the entries must stand on lines of their own, one below the other");
    found_.end = found_.first;
    std::size_t end = found_.first;
    for (; end < lines_.size() && (says_nothing(lines_[end]) || spaces_before(lines_[end]) > 0); ++end)
        if (!says_nothing(lines_[end])) found_.end = end + 1;
}

std::size_t yaml_text::indent_of(const lines& of) const
{
    for (std::size_t i = of.first; i < of.end; ++i)
        if (!says_nothing(lines_[i])) return spaces_before(lines_[i]);
    return 0;
}

// Comments and blank lines in front of a member belong to the one before.
std::vector<yaml_text::lines> yaml_text::members_of(const lines& of) const
{
    const auto indent = indent_of(of);
    std::vector<lines> all;
    for (std::size_t i = of.first; i < of.end; ++i) {
        if (says_nothing(lines_[i])) continue;
        if (lines_[i].find_first_not_of(' ') != lines_[i].find_first_not_of(" \t"))
            refuse(i, "indentation by tabs is no YAML");
        const auto here = spaces_before(lines_[i]);
        if (here < indent) refuse(i, "this line is less indented than the ones above");
        if (here == indent && (name_at(i).empty() || lines_[i][here] == '-'))
            refuse(i, "this is no member of the mapping above");
        if (here == indent)
            all.push_back({i, i + 1});
        else
            all.back().end = i + 1;
    }
    return all;
}

yaml_text::lines yaml_text::entry_named(const std::string& name) const
{
    for (const auto& each : members_of(found_))
        if (name_at(each.first) == name) return each;
    return {};
}

void yaml_text::open_mapping()
{
    if (!lines_.empty() && !lines_.back().ends_with('\n')) lines_.back() += newline_;
    if (!has_mapping_) {
        lines_.push_back(mapping_ + ":" + newline_);
        found_ = {lines_.size(), lines_.size()};
        has_mapping_ = true;
        return;
    }
    auto& head = lines_[found_.first - 1];
    const auto colon = head.find(':');
    const auto value = value_behind(head, colon);
    if (!value.empty()) head.erase(colon + 1, head.find(value, colon) + value.size() - colon - 1);
}

void yaml_text::set(const std::string& name, const json::object& members, const std::vector<std::string>& managed)
{
    const auto old = entry_named(name);
    const bool replaces = old.end != 0;
    if (replaces && !value_behind(lines_[old.first], lines_[old.first].find(':')).empty())
        refuse(old.first, "the entry must have its members on lines of their own");
    open_mapping();
    const auto outer = found_.first == found_.end ? 2 : indent_of(found_);
    const lines body{old.first + 1, old.end};
    const auto inner = replaces && indent_of(body) > outer ? indent_of(body) : outer + 2;
    std::vector<std::string> fresh{std::string(outer, ' ') + plain_name(name) + ":" + newline_};
    std::vector<std::string> written;
    const auto write = [&](const std::string& member, const json::value& value) {
        fresh.push_back(std::string(inner, ' ') + member + ": " + flow(value) + newline_);
    };
    for (const auto& each : replaces ? members_of(body) : std::vector<lines>()) {
        const auto member = name_at(each.first);
        const bool is_managed = std::ranges::find(managed, member) != managed.end();
        written.push_back(member);
        if (is_managed && members.contains(member)) write(member, members.at(member));
        if (is_managed) continue;
        fresh.insert(fresh.end(), lines_.begin() + static_cast<std::ptrdiff_t>(each.first),
                     lines_.begin() + static_cast<std::ptrdiff_t>(each.end));
    }
    for (const auto& [member, value] : members)
        if (std::ranges::find(written, std::string(member)) == written.end()) write(member, value);
    const auto at = replaces ? old.first : found_.end;
    if (replaces)
        lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(old.first),
                     lines_.begin() + static_cast<std::ptrdiff_t>(old.end));
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at), fresh.begin(), fresh.end());
    find_mapping();
}

bool yaml_text::remove(const std::string& name)
{
    const auto old = entry_named(name);
    if (old.end == 0) return false;
    const bool last = members_of(found_).size() == 1;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(old.first),
                 lines_.begin() + static_cast<std::ptrdiff_t>(old.end));
    if (last) {
        auto& head = lines_[found_.first - 1];
        head.insert(head.find(':') + 1, " {}");
    }
    find_mapping();
    return true;
}

std::string yaml_text::text() const
{
    std::string all;
    for (const auto& line : lines_) all += line;
    return all;
}

}  // namespace cmcp::connect
