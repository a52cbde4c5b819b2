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

field<sandbox_input> sandbox_id_field();         ///< required
field<sandbox_input> latest_sandbox_id_field();  ///< the caller's latest sandbox when left out

/// The caller's sandbox of that handle or name; for no id the latest one. Throws sandbox_error.
sandbox_record named_or_latest(sandbox_manager& sandboxes, const caller& who, const std::string& id);

json::object sandbox_json(const sandbox_record& record);
std::string time_text(double seconds);  ///< ISO 8601, UTC

/// An output schema with status, error_type and message beside the members given.
json::object interpreter_schema(schema::properties members, schema::names required);

}  // namespace cmcp
