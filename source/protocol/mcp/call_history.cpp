#include "mcp/call_history.hpp"

#include "jobs/job_register.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/tool.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_line = 120;
constexpr std::size_t longest_looked_at = 8 * 1024;  // for lines
constexpr std::size_t longest_sentence = 1000;
constexpr std::size_t longest_last_lines = 1000;
constexpr std::size_t longest_value = 1000;
constexpr std::size_t most_denied = 8;
constexpr std::array<const char*, 3> printed_streams{"stdout", "stderr", "output"};
constexpr std::array<const char*, 3> streams_of_errors{"stderr", "output", "stdout"};

std::vector<std::string> denied_in(const json::object& structured)
{
    std::vector<std::string> all;
    const auto* member = structured.if_contains("denied");
    const auto* list = member != nullptr ? member->if_array() : nullptr;
    if (list == nullptr) return all;
    for (const auto& each : *list)
        if (each.is_string() && all.size() < most_denied) all.emplace_back(each.get_string());
    return all;
}

std::optional<std::int64_t> exit_code_in(const json::object& structured)
{
    const auto* code = structured.if_contains("exit_code");
    return code != nullptr && code->is_int64() ? std::optional(code->get_int64()) : std::nullopt;
}

// A tool that could not do it has a type of error where a run has a cause.
std::string cause_of(const tool_result& result)
{
    auto cause = text_of(result.structured, "cause");
    if (cause.empty() && result.is_error) cause = text_of(result.structured, "error_type");
    if (cause.empty() && result.is_error) cause = "failed";
    return cause;
}

// Whole lines, where the first of them has room.
std::string last_lines_of(const json::object& structured)
{
    for (const auto* name : streams_of_errors) {
        auto text = utf8_suffix(view_of(structured, name), longest_looked_at);
        const auto end = text.find_last_not_of(" \r\n\t");
        if (end == std::string_view::npos) continue;
        text = text.substr(0, end + 1);
        const auto last = utf8_suffix(text, longest_last_lines);
        const auto line = last.size() < text.size() ? last.find('\n') : std::string_view::npos;
        return std::string(line == std::string_view::npos ? last : last.substr(line + 1));
    }
    return {};
}

std::string short_json(const json::object& object, std::size_t most)
{
    return jsonrpc::is_larger(object, most) ? std::string() : jsonrpc::write_json(object);
}

// The value of the last expression, where it is short.
std::string value_text(const json::value& value, std::size_t most)
{
    if (const auto* object = value.if_object()) return short_json(*object, most);
    if (const auto* array = value.if_array(); array != nullptr && jsonrpc::is_larger(*array, most)) return {};
    if (const auto* text = value.if_string()) return std::string(utf8_prefix(*text, most));
    return jsonrpc::write_json(value);
}

std::string output_of(const json::object& structured)
{
    std::string all;
    for (const auto* name : printed_streams) {
        const auto part = utf8_suffix(view_of(structured, name), call_history::longest_output / 2);
        if (!all.empty() && all.back() != '\n' && !part.empty()) all += '\n';
        all += part;
    }
    if (const auto* value = structured.if_contains("result"); value != nullptr && !value->is_null())
        all += value_text(*value, longest_value);
    if (all.empty()) all = view_of(structured, "error");
    if (all.empty() && !structured.contains("exit_code")) all = short_json(structured, call_history::longest_output);
    return std::string(utf8_suffix(all, call_history::longest_output));
}

// The sentence stands behind what the program printed as errors.
std::string last_sentence(std::string_view text)
{
    const auto end = text.find_last_not_of(" \r\n\t");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    text = text.substr(text.rfind('\n') + 1);
    return std::string(utf8_prefix(text, longest_sentence));
}

// The beginning of the argument that a call is about, without blanks before it.
std::string_view main_argument(const json::object& arguments)
{
    constexpr std::array<std::string_view, 8> names{"code",  "command", "text",      "url",
                                                    "query", "path",    "file_path", "packages"};
    for (const auto name : names) {
        auto text = view_of(arguments, name).substr(0, longest_looked_at);
        const auto begin = text.find_first_not_of(" \r\n\t");
        if (begin == std::string_view::npos) continue;
        text.remove_prefix(begin);
        return text;
    }
    return {};
}

}  // namespace

std::string first_line_of(const json::object& arguments)
{
    const auto text = main_argument(arguments);
    return std::string(utf8_prefix(text.substr(0, text.find_first_of("\r\n")), longest_line));
}

std::string input_of(const json::object& arguments)
{
    const auto text = main_argument(arguments);
    if (!text.empty()) return std::string(utf8_prefix(text, call_history::longest_input));
    return short_json(arguments, call_history::longest_input);
}

bool call_history::is_bad(const tool_result& result)
{
    const auto cause = view_of(result.structured, "cause");
    return result.is_error || exit_code_in(result.structured).value_or(0) != 0 ||
           (!cause.empty() && (cause != "exited" || result.structured.contains("denied")));
}

call_totals* call_history::totals_of(std::string_view principal)
{
    const auto known = totals_.find(principal);
    if (known != totals_.end()) return &known->second;
    return totals_.size() < most_principals ? &totals_[std::string(principal)] : nullptr;
}

void call_history::count(std::string_view principal, bool failed)
{
    ++count_;
    auto* own = totals_of(principal);
    if (own == nullptr) return;
    ++own->calls;
    if (failed) ++own->failed;
}

void call_history::add_cpu(std::string_view principal, const tool_result& result)
{
    const auto* spent = result.structured.if_contains("cpu_ms");
    auto* own = spent != nullptr && spent->is_number() ? totals_of(principal) : nullptr;
    if (own != nullptr) own->cpu_seconds += spent->to_number<double>() / 1000;
}

void call_history::keep(noted_call call, const tool_result& result)
{
    const auto& structured = result.structured;
    bad_end end;
    end.at = job_register::now();
    end.principal = std::move(call.principal);
    end.tool = std::move(call.tool);
    end.first_line = std::move(call.first_line);
    end.sandbox = std::move(call.sandbox);
    end.cause = cause_of(result);
    end.exit_code = exit_code_in(structured);
    end.sentence = last_sentence(view_of(structured, "error"));
    if (const auto* signal = structured.if_contains("signal"); signal != nullptr && end.sentence.empty())
        end.sentence = "The program was ended by signal " + json::serialize(*signal) + ".";
    end.last_lines = last_lines_of(structured);
    end.denied = denied_in(structured);
    ends_.add(std::move(end));
}

void call_history::note_call(past_call call, const tool_result& result)
{
    call.at = job_register::now();
    call.output = output_of(result.structured);
    call.cause = cause_of(result);
    call.exit_code = exit_code_in(result.structured);
    call.failed = is_bad(result);
    calls_.add(std::move(call));
}

}  // namespace cmcp
