#include "app/admin_rows.hpp"
#include "app/administration.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

// The part of administration that shows the audit.
namespace cmcp {

namespace {

json::object describe_audit(const audit::writer_state& now)
{
    json::object about{{"folder", now.folder}, {"file", now.file}, {"key", now.key}};
    about["last"] = now.last.number;
    about["sealed"] = now.sealed.number;
    about["sealed_at"] = now.sealed_at == 0 ? json::value() : json::value(now.sealed_at);
    about["head"] = now.sealed.text();
    about["trouble"] = text_or_null(now.trouble);
    about["damage"] = text_or_null(now.damage);
    about["dropped"] = now.dropped;
    return about;
}

// The line before `end`, which is behind a newline; empty: there is none.
std::string_view line_before(std::string_view text, std::size_t end)
{
    if (end == 0) return {};
    const auto newline = text.substr(0, end - 1).rfind('\n');
    const auto begin = newline == std::string_view::npos ? 0 : newline + 1;
    return text.substr(begin, end - 1 - begin);
}

}  // namespace

json::object administration::audit(const admin_viewer& by, std::size_t most, std::string_view kind)
{
    if (of_.audit == nullptr) return {{"records", json::array()}, {"audit", nullptr}};
    json::array rows;
    const auto latest = of_.audit->latest();
    const auto wanted_kind = "\"kind\":" + jsonrpc::write_json(kind);
    const auto wanted_name = jsonrpc::write_json(by.principal);
    // To read all of a long text would hold the loop.
    const auto may_fit = [&](std::string_view line) {
        return (kind.empty() || line.find(wanted_kind) != std::string_view::npos) &&
               (by.everything || line.find(wanted_name) != std::string_view::npos);
    };
    auto end = latest.size();
    for (auto line = line_before(latest, end); !line.empty() && rows.size() < most; line = line_before(latest, end)) {
        end -= line.size() + 1;
        if (!may_fit(line)) continue;
        auto record = jsonrpc::read_object(line, 8);
        const bool is_own = by.everything || (record.contains("principal") && by.sees(view_of(record, "principal")));
        if (is_own && (kind.empty() || view_of(record, "kind") == kind)) rows.push_back(std::move(record));
    }
    json::object answer{{"records", std::move(rows)}, {"audit", nullptr}};
    if (by.everything) answer["audit"] = describe_audit(of_.audit->now());
    return answer;
}

}  // namespace cmcp
