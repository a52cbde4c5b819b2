#include "commands/admin_lists.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cmcp::command {

namespace {

double number_in(const json::object& row, std::string_view name)
{
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

const json::array& array_in(const json::object& of, std::string_view name)
{
    static const json::array none;
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_array() ? value->get_array() : none;
}

std::string since(double then)
{
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    return then == 0 ? "" : duration_text(now.count() - then);
}

std::string with_more(std::string text, std::string_view separator, const json::array& more)
{
    for (const auto& each : more) {
        if (!text.empty()) text += separator;
        text += each.is_string() ? std::string(each.get_string()) : jsonrpc::write_json(each);
    }
    return text;
}

std::string handle_in(const json::object& row, std::string_view name, bool whole)
{
    const auto handle = text_of(row, name);
    return whole ? handle : short_handle(handle);
}

// Part of a whole, "12 of 31 GiB", where the row says what is free.
std::string use_in(const json::object& row, std::string_view free, std::string_view whole)
{
    const double all = number_in(row, whole);
    return all == 0 ? "" : bytes_text(all - number_in(row, free)) + " of " + bytes_text(all);
}

std::string pairs_in(const json::object& row, std::string_view name)
{
    std::string all;
    for (const auto& [key, value] : object_of(row, name))
        if (value.is_string())
            all += (all.empty() ? "" : ",") + std::string(key) + "=" + std::string(value.get_string());
    return all;
}

bool is_among(std::string_view kind, std::initializer_list<std::string_view> kinds)
{
    return std::ranges::find(kinds, kind) != kinds.end();
}

text_table::column head_of(const json::object& column)
{
    constexpr std::size_t longest_number = 6;
    const auto kind = view_of(column, "kind");
    auto title = text_of(column, "title");
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const bool is_wide = kind == "number" && title.size() > longest_number;
    return {std::move(title), is_wide || is_among(kind, {"text", "texts", "list", "pairs", "principal"}),
            is_among(kind, {"number", "bytes", "duration", "time", "part", "used", "share"})};
}

// A kind that this command does not know is text.
std::string cell_of(const json::object& row, const json::object& column, bool whole)
{
    const auto name = view_of(column, "name"), kind = view_of(column, "kind"), of = view_of(column, "of");
    if (kind == "principal" && view_of(row, name).empty()) return "-";
    if (const auto* value = row.if_contains(name); value == nullptr || value->is_null()) return {};
    if (kind == "handle") return handle_in(row, name, whole);
    if (kind == "texts") return with_more(text_of(row, name), "; ", array_in(row, of));
    if (kind == "list") return with_more({}, ",", array_in(row, name));
    if (kind == "pairs") return pairs_in(row, name);
    if (kind == "flag") return flag_of(row, name) ? "yes" : "no";
    if (kind == "number") return count_in(row, name);
    if (kind == "bytes") return bytes_in(row, name);
    if (kind == "duration") return duration_text(number_in(row, name));
    if (kind == "time") return since(number_in(row, name));
    if (kind == "part") return count_in(row, name) + " of " + count_in(row, of);
    if (kind == "used") return use_in(row, name, of);
    if (kind == "share") return std::to_string(static_cast<int>(100 * number_in(row, name))) + "%";
    return text_of(row, name);
}

}  // namespace

std::string count_in(const json::object& row, std::string_view name)
{
    return std::to_string(static_cast<long long>(number_in(row, name)));
}

std::string bytes_in(const json::object& row, std::string_view name)
{
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_number() ? bytes_text(value->to_number<double>()) : std::string();
}

text_table table_of(const json::object& answer, std::string_view member, bool whole)
{
    const auto& columns = array_in(object_of(answer, "columns"), member);
    if (columns.empty()) throw std::runtime_error("the server that runs is older than this command: restart it");
    const bool has_nodes = answer.contains("nodes");
    std::vector<text_table::column> heads;
    if (has_nodes) heads.push_back({"NODE"});
    for (const auto& each : columns) heads.push_back(head_of(each.as_object()));
    text_table table(std::move(heads));
    for (const auto& row : array_in(answer, member)) {
        std::vector<std::string> cells;
        if (has_nodes) cells.push_back(text_of(row.as_object(), "node"));
        for (const auto& each : columns) cells.push_back(cell_of(row.as_object(), each.as_object(), whole));
        table.add(std::move(cells));
    }
    return table;
}

}  // namespace cmcp::command
