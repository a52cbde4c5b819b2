#pragma once

#include "sandboxes/sandbox_manager.hpp"
#include "tools/described_tool.hpp"

#include <string>

/// The common parts of the tools of sandboxes.
namespace cmcp {

/// Inputs that name a sandbox derive from it.
struct sandbox_input {
    std::string sandbox_id;
};

field<sandbox_input> sandbox_id_field(std::string_view description = {});  ///< left out: the default sandbox is meant

/// The arguments with that one behind them.
template <class Input>
fields<Input> with_sandbox(fields<Input> all)
{
    all.push_back(sandbox_id_field());
    return all;
}

json::object sandbox_json(const sandbox_record& record);

inline constexpr double longest_lease = 365 * 24 * 3600.0;  // seconds

/// The time for which a sandbox is made.
template <class Input>
field<Input> lease_field(std::optional<double> Input::*timeout)
{
    return {"timeout", timeout, "Seconds until it is paused", rule::between(1.0, longest_lease)};
}

inline constexpr std::string_view about_expires = "When its time is over, ISO 8601, UTC";
json::object at_timeout_schema();
json::object status_schema();
void add_lease(json::object& into, const sandbox_record& where);  ///< expires and at_timeout, where it has a lease
json::array network_json(const sandbox_record& record);           ///< the hosts that its programs may reach

/// Fetches the image first where SANDBOX_IMAGE_PULL lets it be fetched.
awaitable<sandbox_record> create_with_image(sandbox_manager& sandboxes, tool_context& context, new_sandbox wanted);
void add_image_digest(json::object& into, const sandbox_manager& sandboxes, const sandbox_record& where);

std::string time_text(double seconds);  ///< ISO 8601, UTC

}  // namespace cmcp
