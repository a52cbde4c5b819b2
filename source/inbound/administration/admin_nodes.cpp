#include "administration/admin_nodes.hpp"

#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds patience_with_lists(1000);
constexpr std::chrono::milliseconds patience_with_changes(30'000);
constexpr std::string_view place_member = "place";  // of a row in its order, for the part of the list behind it

bool is_less(const json::value& one, const json::value& other)
{
    if (one.is_number() && other.is_number()) return one.to_number<double>() < other.to_number<double>();
    if (one.is_string() && other.is_string()) return one.get_string() < other.get_string();
    return one.kind() < other.kind();
}

const json::value& member_of(const json::value& row, std::string_view name)
{
    static const json::value none;
    const auto* member = row.is_object() ? row.get_object().if_contains(name) : nullptr;
    return member == nullptr ? none : *member;
}

// Rows that are equal stand by their ids in the same direction, as each server has them in parts of its list.
bool comes_before(const json::value& one, const json::value& other, std::string_view by)
{
    const auto& first = member_of(one, by);
    const auto& second = member_of(other, by);
    if (is_less(first, second) || is_less(second, first)) return is_less(first, second);
    return is_less(member_of(one, "id"), member_of(other, "id"));
}

void sort_rows(json::array& rows, const row_order& order)
{
    if (order.by.empty()) return;
    std::ranges::stable_sort(rows, [&order](const json::value& one, const json::value& other) {
        return order.rising ? comes_before(one, other, order.by) : comes_before(other, one, order.by);
    });
}

void add_rows(json::array& to, const std::string& node, json::array rows)
{
    for (auto& row : rows) {
        if (!row.is_object()) continue;
        row.get_object()["node"] = node;
        to.push_back(std::move(row));
    }
}

json::array taken(json::object& from, std::string_view name)
{
    auto* member = from.if_contains(name);
    json::array rows = member != nullptr && member->is_array() ? std::move(member->get_array()) : json::array();
    from.erase(name);
    return rows;
}

// The members of a list that comes in parts.
struct parts_of_list {
    bool has_parts = false;
    bool goes_on = false;
    bool has_total = false;
    std::uint64_t total = 0;

    void add(const json::object& answer)
    {
        has_parts = has_parts || answer.contains("next");
        has_total = has_total || answer.contains("total");
        goes_on = goes_on || !view_of(answer, "next").empty();
        total += count_of(answer, "total");
    }
};

// Behind the last row that is shown, each server goes on with what follows in the common order.
json::value place_behind(const json::array& rows, bool goes_on)
{
    return goes_on && !rows.empty() ? member_of(rows.back(), place_member) : json::value();
}

}  // namespace

json::object one_list_of(std::vector<node_list> lists, std::string_view member, const row_order& order)
{
    json::array rows, nodes, silent;
    parts_of_list parts;
    for (auto& [node, answer] : lists) {
        if (answer.empty()) {
            silent.emplace_back(node);
            continue;
        }
        add_rows(rows, node, taken(answer, member));
        parts.add(answer);
        answer.erase("columns");  // this server's count
        answer["node"] = node;
        nodes.push_back(std::move(answer));
    }
    sort_rows(rows, order);
    parts.goes_on = parts.goes_on || rows.size() > order.most;
    if (rows.size() > order.most) rows.resize(order.most);
    json::object whole;
    if (parts.has_total) whole["total"] = parts.total;
    if (parts.has_parts) whole["next"] = place_behind(rows, parts.goes_on);
    whole[member] = std::move(rows);
    whole["nodes"] = std::move(nodes);
    whole["unreachable_nodes"] = std::move(silent);
    return whole;
}

// A name is compared with those of the members, and never becomes an address.
std::vector<std::string> admin_nodes::others_named(const std::string& name) const
{
    if (name == node) return {};
    auto others = members != nullptr ? members->others() : std::vector<std::string>();
    if (name == "*") return others;
    if (std::ranges::find(others, name) == others.end())
        throw http_refusal(404, "The cluster has no server of this name; GET /admin/cluster lists them.");
    return {name};
}

awaitable<std::vector<member_answer>> admin_nodes::ask(const http_request& request, std::string name,
                                                       std::chrono::milliseconds patience) const
{
    std::vector<member_answer> answers;
    auto others = others_named(name);
    if (others.empty()) co_return answers;
    const std::string query = (request.query.empty() ? "" : "?") + request.query;
    member_question question{std::move(others), request.method, request.path + query, patience};
    answers = co_await members->ask(request, std::move(question));
    co_return answers;
}

// The refusal of a server that is asked alone is the answer.
awaitable<std::vector<node_list>> admin_nodes::lists_of_others(const http_request& request, std::string name) const
{
    const auto answers = co_await ask(request, name, patience_with_lists);
    std::vector<node_list> lists;
    for (const auto& each : answers) {
        auto body = jsonrpc::read_object(each.body);
        const bool is_list = each.status == 200;
        if (!is_list && each.status != 0 && name != "*")
            throw http_refusal(each.status, text_of(body, "error"), text_of(body, "error_type"));
        lists.push_back({each.node, is_list ? std::move(body) : json::object()});
    }
    co_return lists;
}

awaitable<http_reply> admin_nodes::change_at(const http_request& request, std::string name) const
{
    if (name == "*") throw http_refusal(400, "A change is for one server; name it.", "InvalidArgument");
    auto answers = co_await ask(request, name, patience_with_changes);
    auto& answer = answers.at(0);
    if (answer.status == 0)
        throw http_refusal(502, "The server " + name + " of this cluster does not answer.", "NodeUnreachable");
    http_reply reply;
    reply.status = answer.status;
    reply.body = std::move(answer.body);
    reply.with("Cache-Control", "no-store");
    co_return reply;
}

}  // namespace cmcp
