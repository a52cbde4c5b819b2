#include "tools/file_arguments.hpp"

namespace cmcp::file_arguments {

std::string text(const json::object& from, std::string_view name, std::string_view otherwise)
{
    const json::value* found = from.if_contains(name);
    if (found == nullptr || !found->is_string()) return std::string(otherwise);
    return std::string(found->get_string());
}

bool flag(const json::object& from, std::string_view name)
{
    const json::value* found = from.if_contains(name);
    return found != nullptr && found->is_bool() && found->get_bool();
}

std::optional<std::uint64_t> count(const json::object& from, std::string_view name)
{
    const json::value* found = from.if_contains(name);
    if (found == nullptr) return std::nullopt;
    boost::system::error_code not_a_count;
    const auto value = found->to_number<std::uint64_t>(not_a_count);  // 5.0 is an integer too
    if (not_a_count) return std::nullopt;
    return value;
}

tool_result failure(const file_error& problem)
{
    tool_result made = tool_failure(problem.what());
    const bool missing = dynamic_cast<const file_missing*>(&problem) != nullptr;
    made.structured["error_type"] = missing ? "NotFound" : "ToolFailed";
    return made;
}

tool_result success(json::object made)
{
    made["success"] = true;
    tool_result result;
    result.structured = std::move(made);
    return result;
}

}  // namespace cmcp::file_arguments
