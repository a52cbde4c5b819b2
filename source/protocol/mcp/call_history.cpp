#include "mcp/call_history.hpp"

#include "jobs/job_register.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_line = 120;
constexpr std::size_t longest_looked_at = 8 * 1024;  // for the line
constexpr std::size_t longest_sentence = 1000;
constexpr std::size_t most_denied = 8;

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

// The sentence stands behind what the program printed as errors.
std::string last_sentence(std::string_view text)
{
    const auto end = text.find_last_not_of(" \r\n\t");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    text = text.substr(text.rfind('\n') + 1);
    return std::string(utf8_prefix(text, longest_sentence));
}

}  // namespace

std::string first_line_of(const json::object& arguments)
{
    constexpr std::array<std::string_view, 8> main_arguments{"code",  "command", "text",      "url",
                                                             "query", "path",    "file_path", "packages"};
    for (const auto name : main_arguments) {
        auto text = view_of(arguments, name).substr(0, longest_looked_at);
        const auto begin = text.find_first_not_of(" \r\n\t");
        if (begin == std::string_view::npos) continue;
        text.remove_prefix(begin);
        return std::string(utf8_prefix(text.substr(0, text.find_first_of("\r\n")), longest_line));
    }
    return {};
}

bool call_history::is_bad(const json::object& structured)
{
    const auto cause = view_of(structured, "cause");
    return !cause.empty() && (cause != "exited" || structured.contains("denied"));
}

call_totals* call_history::totals_of(std::string_view principal)
{
    const auto known = totals_.find(principal);
    if (known != totals_.end()) return &known->second;
    return totals_.size() < most_principals ? &totals_[std::string(principal)] : nullptr;
}

void call_history::count(std::string_view principal, bool failed)
{
    auto* own = totals_of(principal);
    if (own == nullptr) return;
    ++own->calls;
    if (failed) ++own->failed;
}

void call_history::add_cpu(std::string_view principal, const json::object& structured)
{
    const auto* spent = structured.if_contains("cpu_ms");
    auto* own = spent != nullptr && spent->is_number() ? totals_of(principal) : nullptr;
    if (own != nullptr) own->cpu_seconds += spent->to_number<double>() / 1000;
}

void call_history::keep(noted_call call, const json::object& structured)
{
    bad_end end;
    end.at = job_register::now();
    end.principal = std::move(call.principal);
    end.tool = std::move(call.tool);
    end.first_line = std::move(call.first_line);
    end.sandbox = std::move(call.sandbox);
    end.cause = view_of(structured, "cause");
    end.sentence = last_sentence(view_of(structured, "error"));
    if (const auto* signal = structured.if_contains("signal"); signal != nullptr && end.sentence.empty())
        end.sentence = "The program was ended by signal " + json::serialize(*signal) + ".";
    end.denied = denied_in(structured);
    ends_.add(std::move(end));
}

}  // namespace cmcp
