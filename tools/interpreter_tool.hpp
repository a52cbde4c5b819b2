#pragma once

#include "tools/sandbox_tool.hpp"
#include "tools/schema.hpp"

namespace cmcp {

/// The tools of the interpreter speak of `status`: a refusal is {status: "error", error_type, message}.
class interpreter_tool : public sandbox_tool {
public:
    using sandbox_tool::sandbox_tool;

protected:
    tool_result refusal(const std::string& type, const std::string& sentence) const override
    {
        return interpreter_refusal(type, sentence);
    }

public:
    static tool_result interpreter_refusal(const std::string& type, const std::string& sentence);
};

/// An output schema with status, error_type and message beside the members given.
json::object interpreter_schema(schema::properties members, schema::names required);

}  // namespace cmcp
