#pragma once

#include "jsonrpc/json.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// A compiled JSON Schema for the arguments of a tool.
class schema_validator {
public:
    /// Throws std::invalid_argument when the schema cannot be compiled.
    explicit schema_validator(const json::object& schema);
    schema_validator(schema_validator&&) noexcept;
    schema_validator& operator=(schema_validator&&) noexcept;
    ~schema_validator();

    /// Empty when the arguments fit, else one sentence that names the argument and the reason.
    std::string check(json::object& arguments) const;  // lent: they are as before when it returns

    /// The same for any thread.
    std::string check_anywhere(json::object& arguments) const;

private:
    struct compiled;
    std::unique_ptr<compiled> compiled_;
};

/// Puts a finding of the schema library into a sentence that a model can act on: "argument `timeout` must be >= 0".
/// `context` is the library's path ("<root>", "[name]", "[3]"), `finding` its own words, used where nothing better
/// is known.
std::string schema_sentence(const json::object& schema, const json::value& arguments,
                            const std::vector<std::string>& context, const std::string& finding);

}  // namespace cmcp
