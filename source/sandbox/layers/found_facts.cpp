#include "sandbox/layers/found_facts.hpp"

namespace cmcp::sandbox {

const json::object& part(const json::object& facts, std::string_view name)
{
    static const json::object nothing;
    const json::value* found = facts.if_contains(name);
    return found != nullptr && found->is_object() ? found->get_object() : nothing;
}

std::optional<std::int64_t> number(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    if (found == nullptr || !found->is_number()) return std::nullopt;
    boost::system::error_code ec;
    const auto value = found->to_number<std::int64_t>(ec);
    return ec ? std::nullopt : std::optional(value);
}

bool is_true(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    return found != nullptr && found->is_bool() && found->get_bool();
}

std::optional<std::string> text(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    if (found == nullptr || !found->is_string()) return std::nullopt;
    return std::string(found->get_string());
}

}  // namespace cmcp::sandbox
