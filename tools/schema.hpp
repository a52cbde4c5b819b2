#pragma once

#include "jsonrpc/json.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

/// Short ways to write the schemas of tools: root objects without $ref, unions or oneOf, which every client
/// understands.
namespace cmcp::schema {

using properties = std::initializer_list<std::pair<std::string_view, json::object>>;
using names = std::initializer_list<std::string_view>;

json::object string(std::string_view description);
json::object string(std::string_view description, std::string_view default_value);
json::object integer(std::string_view description, std::int64_t minimum, std::int64_t maximum);
json::object number(std::string_view description, double minimum, double maximum);
json::object boolean(std::string_view description);
json::object boolean(std::string_view description, bool default_value);
json::object array(std::string_view description, json::object items);
json::object object(std::string_view description, properties members, names required = {});
json::object any(std::string_view description);  ///< no type: any JSON value

json::object one_of(std::string_view description, names values);  ///< a string out of a fixed set ("enum")

/// An input schema: no member that is not named is taken.
json::object input(properties members, names required = {});

/// An output schema: more members may come. A failure has {success: false, error} in place of the required ones;
/// clients hold failures against the schema, too.
json::object output(properties members, names required = {});

}  // namespace cmcp::schema
