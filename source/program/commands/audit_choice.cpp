#include "commands/audit_choice.hpp"

#include "audit/record_text.hpp"
#include "audit/sink.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

namespace cmcp::command {

namespace {

constexpr std::string_view form_of_time = "0000-00-00T00:00:00";
constexpr std::array<std::size_t, 3> whole_parts{10, 16, 19};  // a day, a minute, a second

bool has_form(std::string_view text)
{
    const auto fits = [](char c, char form) { return form == '0' ? c >= '0' && c <= '9' : c == form; };
    return std::find(whole_parts.begin(), whole_parts.end(), text.size()) != whole_parts.end() &&
           std::equal(text.begin(), text.end(), form_of_time.begin(), fits);
}

std::optional<std::chrono::seconds> time_ago(std::string_view text)
{
    constexpr std::string_view letters = "mhd";
    constexpr std::array<int, 3> seconds{60, 3600, 86400};
    const auto unit = text.empty() ? std::string_view::npos : letters.find(text.back());
    const auto count =
        unit == std::string_view::npos ? std::nullopt : read_number<std::uint32_t>(text.substr(0, text.size() - 1));
    if (!count) return std::nullopt;
    return std::chrono::seconds(std::int64_t{*count} * seconds[unit]);
}

void check_kind(const std::string& name)
{
    std::string known;
    for (auto is = audit::kind::call; is <= audit::kind::removed;
         is = static_cast<audit::kind>(static_cast<int>(is) + 1)) {
        if (name == audit::name_of(is)) return;
        known.append(known.empty() ? "" : ", ").append(audit::name_of(is));
    }
    throw config_error("--kind " + name + " is no kind of records; they are " + known);
}

}  // namespace

std::string audit_time(std::string_view text)
{
    if (text.empty()) return {};
    if (const auto ago = time_ago(text)) {
        std::string time;
        audit::append_time(time, std::chrono::system_clock::now() - *ago);
        return time;
    }
    const auto plain = text.ends_with('Z') ? text.substr(0, text.size() - 1) : text;
    if (!has_form(plain))
        throw config_error("\"" + std::string(text) +
                           "\" is no time; 2026-11-24, 2026-11-24T10:30Z and 12h (so long ago) are some");
    return std::string(plain);
}

audit_choice::audit_choice(const audit_line& line)
    : since_(audit_time(line.since)),
      until_(audit_time(line.until)),
      principal_(line.principal),
      kind_(line.kind),
      any_principal_(line.principal.empty()),
      any_kind_(line.kind.empty())
{
    if (!any_kind_) check_kind(kind_);
}

bool audit_choice::takes(std::string_view record) const
{
    if (since_.empty() && until_.empty() && any_principal_ && any_kind_) return true;
    const auto parsed = jsonrpc::read_object(record, 8);
    const auto at = view_of(parsed, "at");
    if (!since_.empty() && at < since_) return false;
    if (!until_.empty() && at >= until_) return false;
    return (any_principal_ || view_of(parsed, "principal") == principal_) &&
           (any_kind_ || view_of(parsed, "kind") == kind_);
}

}  // namespace cmcp::command
