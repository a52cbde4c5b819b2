#include "app/admin_rows.hpp"

#include "config/setting.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace cmcp {

namespace {

constexpr std::size_t longest_line = 120;

bool in_name(char c) { return (std::isupper(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// The sentences for callers name the setting, where one setting decides.
std::string setting_named_in(std::string_view sentence)
{
    for (auto at = sentence.begin(); at != sentence.end();) {
        at = std::find_if(at, sentence.end(), in_name);
        const auto end = std::find_if_not(at, sentence.end(), in_name);
        std::string word(at, end);
        if (word.find('_') != std::string::npos && find_setting(word) != nullptr) return word;
        at = end;
    }
    return {};
}

struct cause_setting {
    std::string_view cause;
    std::string_view of_python;  // of a script without a sandbox
    std::string_view of_others;
};

constexpr std::array<cause_setting, 4> cause_settings{{
    {"timeout", "PYTHON_TIMEOUT_MAX", "BASH_TIMEOUT_MAX"},
    {"memory_limit", "PYTHON_MEMORY_LIMIT", "SANDBOX_MEMORY_LIMIT"},
    {"process_limit", "SANDBOX_PROCESS_LIMIT", "SANDBOX_PROCESS_LIMIT"},
    {"file_size_limit", "SANDBOX_FILE_SIZE_LIMIT", "SANDBOX_FILE_SIZE_LIMIT"},
}};

}  // namespace

json::value text_or_null(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

std::string setting_for(const bad_end& end)
{
    const auto row = std::ranges::find(cause_settings, end.cause, [](const auto& each) { return each.cause; });
    const bool is_known = row != std::ranges::end(cause_settings);
    const bool python = end.tool == "system_run_python";
    std::string usual(!is_known ? std::string_view() : python ? row->of_python : row->of_others);
    // Of several that are named.
    if (!usual.empty() && end.sentence.find(usual) != std::string::npos) return usual;
    if (auto named = setting_named_in(end.sentence); !named.empty()) return named;
    for (const auto& each : end.denied)
        if (auto named = setting_named_in(each); !named.empty()) return named;
    return usual;
}

// The rules beside these are names of address ranges and of settings.
std::string setting_for(const egress_decision& decision)
{
    constexpr std::array<std::string_view, 14> failures{
        "unresolved", "unreachable", "timeout", "busy",     "bytes", "bad response", "sandbox",
        "network",    "server name", "host",    "protocol", "user",  "no answer",    "nobody to ask"};
    if (decision.allowed || std::ranges::find(failures, decision.reason) != failures.end()) return {};
    return find_setting(decision.reason) != nullptr ? decision.reason : "WEB_ALLOWED_PRIVATE";
}

std::string first_line(std::string_view text)
{
    return std::string(utf8_prefix(text.substr(0, text.find_first_of("\r\n")), longest_line));
}

json::object row_of(const sandbox_record& record)
{
    return {{"id", record.id},           {"name", record.name},       {"principal", record.owner},
            {"state", record.status},    {"created", record.created}, {"last_used", record.last_used},
            {"disk_bytes", record.disk}, {"image", record.image},     {"class", record.class_name()}};
}

json::object row_of(const job_record& record)
{
    return {{"id", record.id},
            {"kind", record.kind()},
            {"principal", record.owner},
            {"tool", record.tool},
            {"state", record.state},
            {"created", record.created},
            {"ended", record.ended == 0 ? json::value() : json::value(record.ended)},
            {"summary", first_line(record.label)},
            {"sandbox_id", text_or_null(record.sandbox)}};
}

json::object row_of(const bad_end& end, const std::string& sandbox_id)
{
    return {{"at", end.at},
            {"principal", end.principal},
            {"tool", end.tool},
            {"cause", end.cause},
            {"exit_code", end.exit_code ? json::value(*end.exit_code) : json::value()},
            {"sentence", end.sentence},
            {"last_lines", end.last_lines},
            {"denied", json::array(end.denied.begin(), end.denied.end())},
            {"setting", text_or_null(setting_for(end))},
            {"first_line", end.first_line},
            {"sandbox_id", text_or_null(sandbox_id)}};
}

json::object row_of(const past_call& call, const std::string& sandbox_id)
{
    return {{"at", call.at},
            {"tool", call.tool},
            {"sandbox_id", sandbox_id},
            {"input", call.input},
            {"output", call.output},
            {"cause", call.cause},
            {"exit_code", call.exit_code ? json::value(*call.exit_code) : json::value()},
            {"failed", call.failed},
            {"seconds", call.seconds}};
}

json::object row_of(const egress_decision& decision)
{
    return {{"at", decision.at},
            {"principal", decision.principal},
            {"host", decision.host},
            {"port", decision.port},
            {"allowed", decision.allowed},
            {"reason", decision.reason},
            {"setting", text_or_null(setting_for(decision))}};
}

json::object row_of(const run_row& run, double now)
{
    json::object row;
    row["id"] = run.id;
    row["kind"] = run.kind;
    row["principal"] = run.principal;
    row["tool"] = run.tool;
    row["client"] = run.client;
    row["session"] = run.session;
    row["first_line"] = run.first_line;
    row["state"] = run.waits ? "waiting" : "running";
    row["started"] = run.started;
    row["seconds"] = std::max(0.0, now - run.started);
    row["memory_bytes"] = nullptr;
    row["cpu_seconds"] = nullptr;
    row["sandbox_id"] = text_or_null(run.sandbox);
    row["output_tail"] = run.output_tail;
    return row;
}

}  // namespace cmcp
