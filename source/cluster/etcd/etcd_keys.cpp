#include "etcd/etcd_keys.hpp"

#include "jsonrpc/read_object.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"

namespace cmcp {

namespace {

json::object compared(std::string_view key, std::string_view target, std::string_view with, std::int64_t revision)
{
    json::object condition;
    condition["key"] = base64_encode(key);
    condition["target"] = target;
    condition["result"] = "EQUAL";
    condition[with] = std::to_string(revision);
    return condition;
}

}  // namespace

std::string end_of_prefix(std::string prefix)
{
    while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
    if (prefix.empty()) return std::string(1, '\0');  // all that is left
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

etcd_transaction& etcd_transaction::if_absent(std::string_view key) { return if_modified_in(key, 0); }

etcd_transaction& etcd_transaction::if_modified_in(std::string_view key, std::int64_t revision)
{
    conditions_.push_back(compared(key, "MOD", "mod_revision", revision));
    return *this;
}

etcd_transaction& etcd_transaction::put(std::string_view key, std::string_view value, std::int64_t lease)
{
    json::object put{{"key", base64_encode(key)}, {"value", base64_encode(value)}};
    if (lease != 0) put["lease"] = std::to_string(lease);
    then_.push_back(json::object{{"request_put", std::move(put)}});
    return *this;
}

etcd_transaction& etcd_transaction::remove(std::string_view key)
{
    then_.push_back(json::object{{"request_delete_range", json::object{{"key", base64_encode(key)}}}});
    return *this;
}

etcd_transaction& etcd_transaction::read(std::string_view key)
{
    reads_.push_back(json::object{{"request_range", json::object{{"key", base64_encode(key)}}}});
    return *this;
}

etcd_transaction& etcd_transaction::read_below(std::string_view prefix)
{
    const json::object range{{"key", base64_encode(prefix)},
                             {"range_end", base64_encode(end_of_prefix(std::string(prefix)))}};
    reads_.push_back(json::object{{"request_range", range}});
    return *this;
}

json::object etcd_transaction::request() const
{
    json::array then = then_, otherwise = otherwise_;
    then.insert(then.end(), reads_.begin(), reads_.end());
    otherwise.insert(otherwise.end(), reads_.begin(), reads_.end());
    return {{"compare", conditions_}, {"success", std::move(then)}, {"failure", std::move(otherwise)}};
}

std::int64_t etcd_number(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    if (value == nullptr) return 0;
    if (!value->is_string()) return number_of(from, name);
    const auto number = read_number(std::string_view(value->get_string()));
    return number ? static_cast<std::int64_t>(*number) : 0;
}

std::optional<etcd_entry> etcd_entry_of(const json::object& row)
{
    auto key = base64_decode(view_of(row, "key"));
    auto value = base64_decode(view_of(row, "value"));
    if (!key || !value) return std::nullopt;
    return etcd_entry{std::move(*key), std::move(*value), etcd_number(row, "create_revision"),
                      etcd_number(row, "mod_revision"), etcd_number(row, "lease")};
}

std::vector<etcd_entry> entries_in(const json::object& range_answer)
{
    std::vector<etcd_entry> all;
    const auto* rows = range_answer.if_contains("kvs");
    if (rows == nullptr || !rows->is_array()) return all;
    for (const auto& row : rows->get_array())
        if (auto entry = row.is_object() ? etcd_entry_of(row.get_object()) : std::nullopt)
            all.push_back(*std::move(entry));
    return all;
}

etcd_outcome outcome_in(const json::object& answer)
{
    etcd_outcome outcome;
    outcome.done = flag_of(answer, "succeeded");
    outcome.revision = etcd_number(object_of(answer, "header"), "revision");
    const auto* all = answer.if_contains("responses");
    if (all == nullptr || !all->is_array()) return outcome;
    for (const auto& each : all->get_array()) {
        const auto* row = each.is_object() ? each.get_object().if_contains("response_range") : nullptr;
        if (row == nullptr || !row->is_object()) continue;
        outcome.read.push_back(entries_in(row->get_object()));
    }
    return outcome;
}

}  // namespace cmcp
