#include "tools/schema.hpp"

namespace cmcp::schema {

namespace {

json::object typed(std::string_view type, std::string_view description)
{
    json::object made;
    made["type"] = type;
    if (!description.empty()) made["description"] = description;
    return made;
}

json::array list(names all)
{
    json::array made;
    for (auto name : all) made.emplace_back(json::string_view(name.data(), name.size()));
    return made;
}

void add_members(json::object& to, properties members, names required)
{
    json::object& all = to["properties"].emplace_object();
    for (const auto& [name, member] : members) all[name] = member;
    if (required.size() != 0) to["required"] = list(required);
}

}  // namespace

json::object string(std::string_view description) { return typed("string", description); }

json::object string(std::string_view description, std::string_view default_value)
{
    json::object made = typed("string", description);
    made["default"] = default_value;
    return made;
}

json::object integer(std::string_view description, std::int64_t minimum, std::int64_t maximum)
{
    json::object made = typed("integer", description);
    made["minimum"] = minimum;
    made["maximum"] = maximum;
    return made;
}

json::object number(std::string_view description, double minimum, double maximum)
{
    json::object made = typed("number", description);
    made["minimum"] = minimum;
    made["maximum"] = maximum;
    return made;
}

json::object boolean(std::string_view description) { return typed("boolean", description); }

json::object boolean(std::string_view description, bool default_value)
{
    json::object made = typed("boolean", description);
    made["default"] = default_value;
    return made;
}

json::object array(std::string_view description, json::object items)
{
    json::object made = typed("array", description);
    made["items"] = std::move(items);
    return made;
}

json::object object(std::string_view description, properties members, names required)
{
    json::object made = typed("object", description);
    add_members(made, members, required);
    return made;
}

json::object any(std::string_view description)
{
    json::object made;
    made["description"] = description;
    return made;
}

json::object one_of(std::string_view description, names values)
{
    json::object made = typed("string", description);
    made["enum"] = list(values);
    return made;
}

json::object input(properties members, names required)
{
    json::object made = object({}, members, required);
    made["additionalProperties"] = false;
    return made;
}

json::object output(properties members, names required)
{
    json::object made = object({}, members);
    json::object failed;
    failed["properties"] = json::object{{"success", json::object{{"const", false}}}};
    failed["required"] = json::array{"success", "error"};
    made["anyOf"] = json::array{json::object{{"required", list(required)}}, std::move(failed)};
    return made;
}

}  // namespace cmcp::schema
