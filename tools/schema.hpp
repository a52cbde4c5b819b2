#pragma once

#include "jsonrpc/json.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

/// Short ways to write the schemas of results: root objects without $ref, unions or oneOf, which every client
/// understands.
namespace cmcp::schema {

using properties = std::initializer_list<std::pair<std::string_view, json::object>>;
using names = std::initializer_list<std::string_view>;

json::object typed(std::string_view type, std::string_view description);  ///< any type by its name
json::object string(std::string_view description);
json::object integer(std::string_view description, std::int64_t minimum, std::int64_t maximum);
json::object number(std::string_view description, double minimum, double maximum);
json::object boolean(std::string_view description);
json::object array(std::string_view description, json::object items);
json::object object(std::string_view description, properties members, names required = {});
json::object any(std::string_view description);                   ///< no type: any JSON value
json::object one_of(std::string_view description, names values);  ///< a string out of a fixed set ("enum")
json::array list(names values);

/// An output schema: more members may come. A failure has {success: false, error} in place of the required ones;
/// clients hold failures against the schema, too.
json::object output(properties members, names required = {});

}  // namespace cmcp::schema
