#pragma once

#include "jsonrpc/json.hpp"
#include "runs/runner.hpp"

#include <string>
#include <string_view>

/// What system_run_command and system_run_python have in common.
namespace cmcp {

/// The input schema: the text member `source` and the options of a run; run_in_background only with `jobs`.
json::object run_input_schema(std::string_view source, std::string_view description, bool jobs);

/// The member run_in_background of an input schema.
json::object background_schema();

/// The properties that every run result has, to be added to an output schema.
void add_run_output_schema(json::object& schema);

/// Reads working_dir, timeout and max_output, which fit the schema.
run_options read_run_options(const json::object& arguments, std::string request_id);

std::string read_string(const json::object& arguments, std::string_view name);

}  // namespace cmcp
