#include "mcp/result_text.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/folder_names.hpp"
#include "text/terminal_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t longest_fact = 200;
constexpr std::size_t longest_names = 500;      // of files, in bytes
constexpr std::size_t most_built_files = 3;     // that are named, of those in folders of builds
constexpr std::uint64_t small_disk = 64 << 20;  // bytes that nobody needs to think of

// What programs printed, and texts that are shown to the letter, in this order.
constexpr std::array<std::string_view, 2> printed{"stdout", "output"};
constexpr std::array<std::string_view, 2> verbatim{"content", "text"};

// Lists that have a line of their own.
constexpr std::string_view changed = "files", installed = "installed";

// The value that code gives back: JSON, whatever it is.
constexpr std::string_view value_of_code = "result";

// Texts behind them.
constexpr std::array<std::string_view, 6> sentences{"error", "message", "hint", "note", "kernel", "left_out"};

// Printed by the code of earlier calls after their end.
constexpr std::string_view late = "late_output";

// The model did not ask for these, or they follow from what it is shown.
constexpr std::array<std::string_view, 24> unsaid{
    "success",      "duration_ms",      "cpu_ms",           "peak_memory_bytes",
    "prepared",     "output_uri",       "error_type",       "displays",
    "images",       "stdout_truncated", "stderr_truncated", "result_is_repr",
    "rest_uri",     "file_links",       "created",          "ended",
    "last_used",    "modified",         "files_left_out",   "name_base64",
    "binary_bytes", "console",          "uncaught_errors",  "failed_requests"};

// What kernels keep of what they showed: its text and its images are in the answer.
constexpr std::string_view shown_by_kernels = ".displays/";

template <class Names>
bool is_among(const Names& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

void add_block(std::string& text, std::string_view label, std::string_view block)
{
    begin_line(text);
    if (!label.empty()) text.append("[").append(label).append("]\n");
    text.append(block);
}

bool is_plain(const json::value& value) { return !value.is_object() && !value.is_array(); }

bool is_list_of_words(const json::value& value)
{
    const auto* list = value.if_array();
    return list && std::all_of(list->begin(), list->end(), is_plain);
}

std::string word(const json::value& value)
{
    const auto* text = value.if_string();
    return text ? std::string(*text) : jsonrpc::write_json(value);
}

std::string words(const json::array& list)
{
    std::string all;
    for (const auto& each : list) all.append(all.empty() ? "" : ", ").append(word(each));
    return all;
}

// The size of a file that is shown whole follows from what is shown.
bool is_seen(const json::object& structured, std::string_view name)
{
    if (name == "size") return !structured.contains("next_offset") && !view_of(structured, "content").empty();
    return name == "file_link" && !structured.contains("content");  // a link is for whoever reads the file
}

// Facts that are as one expects say nothing.
bool is_usual(std::string_view name, const json::value& value)
{
    if (value.is_null() || is_among(unsaid, name)) return true;
    if (name == "exit_code") return value == 0;
    if (name == "cause") return value == "exited";
    if (name == "status") return value == "success" || value == "error" || value == "running";
    if (name == "image") return value == "native";
    if (name == "path") return value == "." || value == "/";
    if (name == "disk_bytes") return value.is_number() && value.to_number<double>() < small_disk;
    if (name == "truncated" || name == "more" || name == "matched") return value == (name == "matched");
    return name != value_of_code && is_list_of_words(value) && value.get_array().empty();
}

// A text that reads as a number, true or a list stands in quotes, but for the repr() of a value.
bool needs_quotes(const json::object& structured, const json::value& value)
{
    const auto* text = value.if_string();
    if (text == nullptr || flag_of(structured, "result_is_repr")) return false;
    const auto read = jsonrpc::read_value(std::string_view(*text));
    return read && !read->is_string();
}

// Empty where it is too long for a fact.
std::string fact(std::string_view name, const json::value& value)
{
    const bool list = name != value_of_code && is_list_of_words(value);
    if (!list && !is_plain(value) && name != value_of_code) return {};
    const auto shown = list ? words(value.get_array()) : word(value);
    if (shown.size() > longest_fact || shown.find('\n') != std::string::npos) return {};
    return std::string(name) + ": " + shown;
}

bool is_file_row(const json::object& row) { return row.contains("is_directory") && row.contains("size"); }

bool is_package(const json::value& value)
{
    const auto* row = value.if_object();
    return row != nullptr && row->size() == 2 && row->contains("name") && row->contains("version");
}

// "a 1.0, b 2.1"
std::string packages(const json::array& list)
{
    std::string all;
    for (const auto& each : list) {
        const auto& row = each.get_object();
        all.append(all.empty() ? "" : ", ").append(view_of(row, "name")).append(" ").append(view_of(row, "version"));
    }
    return all;
}

// "356  name", as ls writes it; `path` says which folder it is in where that is not the one that was asked for.
std::string file_line(const json::object& row, bool path)
{
    const auto name = view_of(row, path ? "path" : "name");
    if (flag_of(row, "is_directory")) return std::string(name) + "/";
    const auto type = view_of(row, "type");
    const std::string kind = type.empty() || type == "file" ? "" : "  (" + std::string(type) + ")";
    return word(row.at("size")) + "  " + std::string(name) + kind;
}

std::string row_line(const json::object& row)
{
    std::string line;
    for (const auto& [key, value] : row) {
        if (is_usual(key, value) || (value.is_string() && value.get_string().empty())) continue;
        const auto* list = value.if_array();
        const bool has_packages = list != nullptr && !list->empty() && std::ranges::all_of(*list, is_package);
        std::string shown = has_packages ? std::string(key) + ": " + packages(*list) : fact(key, value);
        if (shown.empty()) shown = std::string(key) + ": " + jsonrpc::write_json(value);
        line.append(line.empty() ? "" : "; ").append(shown);
    }
    return line;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

// A list may be of what is further below, and then names alone would not lead to anything.
bool are_elsewhere(const json::array& rows, std::string_view listed_folder)
{
    if (listed_folder.ends_with('/')) listed_folder.remove_suffix(1);
    return std::ranges::any_of(rows, [listed_folder](const json::value& row) {
        const auto folder = folder_of(view_of(row.get_object(), "path"));
        return !folder.empty() && folder.substr(0, folder.size() - 1) != listed_folder;
    });
}

// `listed_folder`: the one that a list of files is of.
void add_rows(std::string& text, std::string_view name, const json::array& rows, std::string_view listed_folder)
{
    const bool of_files = !rows.empty() && std::ranges::all_of(rows, [](const json::value& row) {
        return row.is_object() && is_file_row(row.get_object());
    });
    if (!of_files) add_block(text, name, {});
    const bool by_path = of_files && are_elsewhere(rows, listed_folder);
    for (const auto& row : rows) {
        begin_line(text);
        if (of_files)
            text.append(file_line(row.get_object(), by_path));
        else
            text.append(row.is_object() ? row_line(row.get_object()) : word(row));
    }
}

void add_long(std::string& text, std::string_view name, const json::value& value, std::string_view listed_folder)
{
    if (value.is_array() && name != value_of_code)
        add_rows(text, name, value.get_array(), listed_folder);
    else
        add_block(text, name, word(value));
}

// A list that is written in a way of its own.
bool has_own_line(std::string_view name, const json::value& value)
{
    return (name == changed || name == installed) && is_list_of_words(value);
}

// `more`: a fact that stands behind the others.
void add_others(std::string& text, const json::object& structured, const std::string& more)
{
    std::string facts;
    for (const auto& [key, member] : structured) {
        const std::string_view name(key);
        json::value quoted;
        if (name == value_of_code && needs_quotes(structured, member))
            quoted = json::string(jsonrpc::write_json(member));
        const auto& value = quoted.is_null() ? member : quoted;
        if (is_among(printed, name) || is_among(verbatim, name) || is_among(sentences, name) || name == "stderr" ||
            name == late || has_own_line(name, value) || is_usual(name, value) || is_seen(structured, name))
            continue;
        const auto shown = fact(name, value);
        if (name == "output_path" && text.find(word(value)) != std::string::npos) continue;
        if (shown.empty())
            add_long(text, name, value, view_of(structured, "path"));
        else if (shown.find("://") != std::string::npos)
            add_block(text, {}, shown);  // where no sign of ours joins an address
        else
            facts.append(facts.empty() ? "" : "; ").append(shown);
    }
    if (!more.empty()) facts.append(facts.empty() ? "" : "; ").append(more);
    if (facts.empty()) return;
    begin_line(text);
    text.append(facts);
}

std::string with_commas(std::uint64_t number)
{
    auto digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

// "files: a, b and 1,239 more"; empty where a run changed none that is worth a word.
std::string line_of_files(const json::object& structured)
{
    const auto* list = structured.if_contains(changed);
    if (list == nullptr || !is_list_of_words(*list)) return {};
    std::vector<std::string> named, of_builds;
    for (const auto& each : list->get_array()) {
        auto name = word(each);
        if (name.starts_with(shown_by_kernels)) continue;
        if (name.find('\n') != std::string::npos) name = jsonrpc::write_json(each);
        (is_in_build(name) ? of_builds : named).push_back(std::move(name));
    }
    auto others = count_of(structured, "files_left_out");
    const auto first = std::min(of_builds.size(), most_built_files);
    others += of_builds.size() - first;
    std::move(of_builds.begin(), of_builds.begin() + static_cast<std::ptrdiff_t>(first), std::back_inserter(named));
    std::string line;
    for (const auto& name : named) {
        if (line.size() + name.size() > longest_names && !line.empty())
            ++others;
        else
            line.append(line.empty() ? "" : ", ").append(name);
    }
    if (others != 0) line.append(" and ").append(with_commas(others)).append(" more");
    return line.empty() ? line : std::string(changed) + ": " + line;
}

// "installed: a 1.0, b 2.1"
std::string line_of_packages(const json::array& list)
{
    std::string all;
    for (const auto& each : list) {
        auto one = word(each);
        if (const auto at = one.find("=="); at != std::string::npos) one.replace(at, 2, " ");
        all.append(all.empty() ? "" : ", ").append(one);
    }
    return all.empty() ? "Nothing was missing: all that was asked for is installed."
                       : std::string(installed) + ": " + all;
}

// Bytes that are no text say nothing to a model but that they are there.
std::string shown_as_text(const json::object& structured, std::string_view stream)
{
    if (!looks_binary(stream)) return as_terminal_shows(stream);
    const auto bytes = count_of(structured, "binary_bytes");
    const auto path = view_of(structured, "output_path");
    std::string line = "(binary output";
    if (bytes > 0) line += ", " + with_commas(bytes) + " bytes";
    return line + (path.empty() ? ")" : ", in " + std::string(path) + ")");
}

// What an installer prints says nothing more than what is installed, unless it failed.
bool is_installation(const json::object& structured)
{
    const auto* list = structured.if_contains(installed);
    return list != nullptr && is_list_of_words(*list) && flag_of(structured, "success");
}

void add_streams(std::string& text, const json::object& structured)
{
    const bool installation = is_installation(structured);
    for (const auto name : printed)
        if (!installation) text.append(shown_as_text(structured, view_of(structured, name)));
    for (const auto name : verbatim) text.append(view_of(structured, name));
    if (installation) add_block(text, {}, line_of_packages(structured.at(installed).get_array()));
    if (const auto errors = view_of(structured, "stderr"); !errors.empty())
        add_block(text, text.empty() ? "" : "stderr", shown_as_text(structured, errors));
    if (const auto printed_late = view_of(structured, late); !printed_late.empty())
        add_block(text, "late_output: printed since the call before", as_terminal_shows(printed_late));
}

}  // namespace

std::string spoken_part(const json::object& structured)
{
    std::string text;
    add_streams(text, structured);
    std::vector<std::string_view> said;
    for (const auto name : sentences) {
        const auto sentence = view_of(structured, name);
        if (sentence.empty() || is_among(said, sentence)) continue;
        add_block(text, {}, as_terminal_shows(sentence));
        said.push_back(sentence);
    }
    add_others(text, structured, line_of_files(structured));
    return text;
}

std::string result_text(const json::object& structured)
{
    auto text = spoken_part(structured);
    if (text.empty()) text = structured.contains("exit_code") ? "(no output)" : "Done.";
    return text;
}

}  // namespace cmcp
