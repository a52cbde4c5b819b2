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
json::array network_json(const sandbox_record& record);  ///< the hosts that its programs may reach

/// Fetches the image first where SANDBOX_IMAGE_PULL lets it be fetched.
awaitable<sandbox_record> create_with_image(sandbox_manager& sandboxes, tool_context& context, new_sandbox wanted);
void add_image_digest(json::object& into, const sandbox_manager& sandboxes, const sandbox_record& where);

std::string time_text(double seconds);  ///< ISO 8601, UTC

}  // namespace cmcp
