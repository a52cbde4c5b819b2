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

field<sandbox_input> sandbox_id_field(std::string_view description);
field<sandbox_input> sandbox_id_field();  ///< required

json::object sandbox_json(const sandbox_record& record);
std::string time_text(double seconds);  ///< ISO 8601, UTC

}  // namespace cmcp
