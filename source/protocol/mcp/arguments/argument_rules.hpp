#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/arguments/schema_validator.hpp"
#include "mcp/tool.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cmcp {

/// The arguments that a tool takes. Does not change, so that work on another thread may go on with it when the tool is
/// gone.
class argument_rules {
public:
    /// Throws std::invalid_argument when the schema cannot be compiled.
    explicit argument_rules(const tool_definition& of);

    /// As tool_registry::validate(). Io thread only.
    std::string validate(json::object& arguments) const;

    /// The same for any thread.
    std::string validate_anywhere(json::object& arguments) const;

    /// As the function of this name (lenient_arguments.hpp): names for tell_ignored, a few of them.
    std::vector<std::string> take_out_unknown(json::object& arguments) const;

private:
    std::string judged(json::object& arguments, std::string misfit) const;

    json::object schema_;
    schema_validator validator_;
    bool read_only_;
};

}  // namespace cmcp
