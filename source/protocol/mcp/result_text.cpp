#include "mcp/result_text.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t longest_fact = 200;
constexpr std::size_t most_links = 5;  // of more files the names have to do

// Texts that are shown as they are, in this order.
constexpr std::array<std::string_view, 4> printed{"stdout", "output", "content", "text"};

// The value that code gives back: JSON, whatever it is.
constexpr std::string_view value_of_code = "result";

// Texts behind them.
constexpr std::array<std::string_view, 6> sentences{"error", "message", "hint", "note", "kernel", "left_out"};

// Printed by the code of earlier calls after their end.
constexpr std::string_view late = "late_output";

// The model did not ask for these, or they follow from what it is shown.
constexpr std::array<std::string_view, 16> unsaid{
    "success",        "duration_ms", "cpu_ms",          "peak_memory_bytes", "prepared",         "output_uri",
    "error_type",     "displays",    "images",          "rest_uri",          "stdout_truncated", "stderr_truncated",
    "result_is_repr", "console",     "uncaught_errors", "failed_requests"};

template <class Names>
bool is_among(const Names& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

void begin_line(std::string& text)
{
    if (!text.empty() && text.back() != '\n') text += '\n';
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

// Facts that are as one expects say nothing.
bool is_usual(std::string_view name, const json::value& value)
{
    if (value.is_null() || is_among(unsaid, name)) return true;
    if (name == "file_links")
        return value.is_array() && (value.get_array().empty() || value.get_array().size() > most_links);
    if (name == "exit_code") return value == 0;
    if (name == "cause") return value == "exited";
    if (name == "status") return value == "success" || value == "error";
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

void add_rows(std::string& text, std::string_view name, const json::array& rows)
{
    add_block(text, name, {});
    for (const auto& row : rows) {
        begin_line(text);
        text.append(word(row));
    }
}

void add_long(std::string& text, std::string_view name, const json::value& value)
{
    if (value.is_array() && name != value_of_code)
        add_rows(text, name, value.get_array());
    else
        add_block(text, name, word(value));
}

void add_others(std::string& text, const json::object& structured)
{
    std::string facts;
    for (const auto& [key, member] : structured) {
        const std::string_view name(key);
        json::value quoted;
        if (name == value_of_code && needs_quotes(structured, member))
            quoted = json::string(jsonrpc::write_json(member));
        const auto& value = quoted.is_null() ? member : quoted;
        if (is_among(printed, name) || is_among(sentences, name) || name == "stderr" || name == late ||
            is_usual(name, value))
            continue;
        const auto shown = fact(name, value);
        if (shown.empty())
            add_long(text, name, value);
        else if (shown.find("://") != std::string::npos)
            add_block(text, {}, shown);  // where no sign of ours joins an address
        else
            facts.append(facts.empty() ? "" : "; ").append(shown);
    }
    if (facts.empty()) return;
    begin_line(text);
    text.append(facts);
}

}  // namespace

std::string result_text(const json::object& structured)
{
    std::string text;
    for (const auto name : printed) text.append(view_of(structured, name));
    if (const auto errors = view_of(structured, "stderr"); !errors.empty())
        add_block(text, text.empty() ? "" : "stderr", errors);
    if (const auto printed_late = view_of(structured, late); !printed_late.empty())
        add_block(text, "late_output: printed since the call before", printed_late);
    std::string_view before;
    for (const auto name : sentences) {
        const auto sentence = view_of(structured, name);
        if (!sentence.empty() && sentence != before) add_block(text, {}, sentence);
        before = sentence;
    }
    add_others(text, structured);
    if (text.empty()) text = structured.contains("exit_code") ? "(no output)" : "Done.";
    return text;
}

}  // namespace cmcp
