#include "jail/facts.hpp"

namespace cmcp::sandbox {

const json::object& part(const json::object& facts, std::string_view name)
{
    static const json::object nothing;
    const json::value* fact = facts.if_contains(name);
    return fact != nullptr && fact->is_object() ? fact->get_object() : nothing;
}

std::optional<std::int64_t> number(const json::object& facts, std::string_view name)
{
    const json::value* fact = facts.if_contains(name);
    if (fact == nullptr || !fact->is_number()) return std::nullopt;
    boost::system::error_code ec;
    const auto value = fact->to_number<std::int64_t>(ec);
    return ec ? std::nullopt : std::optional(value);
}

bool is_true(const json::object& facts, std::string_view name)
{
    const json::value* fact = facts.if_contains(name);
    return fact != nullptr && fact->is_bool() && fact->get_bool();
}

std::optional<std::string> text(const json::object& facts, std::string_view name)
{
    const json::value* fact = facts.if_contains(name);
    if (fact == nullptr || !fact->is_string()) return std::nullopt;
    return std::string(fact->get_string());
}

}  // namespace cmcp::sandbox
