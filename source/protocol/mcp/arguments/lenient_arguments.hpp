#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cmcp {

/// Brings arguments into the form that the schema asks for where their meaning is plain: null and empty values of
/// another kind are not given (jsonrpc/absent.hpp), nor an empty text where the schema takes none; "5" is 5, "true" is
/// true, a lone value is a list of one, JSON text of a list or an object is what it says. The rest stays, for the
/// validator to refuse.
void take_as_meant(json::object& arguments, const json::object& schema);

/// Names of unknown arguments that an answer lists.
inline constexpr std::size_t most_unknown_listed = 10;

/// The names of arguments that a schema without further properties does not name, at most so many.
std::vector<std::string> unknown_arguments(const json::object& arguments, const json::object& schema, std::size_t most);

/// Takes all of them out. Returns the same.
std::vector<std::string> take_out_unknown(json::object& arguments, const json::object& schema, std::size_t most);

/// The schema without the refusal of arguments that it does not name.
json::object open_schema(json::object schema);

/// Arguments that fit: the required ones, and `also` where the schema has it; their values are the schema's examples.
json::object example_arguments(const json::object& schema, std::string_view also);

}  // namespace cmcp
