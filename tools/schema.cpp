#include "tools/schema.hpp"

namespace cmcp::schema {

namespace {

template <class Number>
json::object bounded(std::string_view type, std::string_view description, Number minimum, Number maximum)
{
    auto schema = typed(type, description);
    schema["minimum"] = minimum;
    schema["maximum"] = maximum;
    return schema;
}

}  // namespace

json::array list(names values)
{
    json::array all;
    for (auto value : values) all.emplace_back(json::string_view(value.data(), value.size()));
    return all;
}

json::object typed(std::string_view type, std::string_view description)
{
    json::object schema{{"type", type}};
    if (!description.empty()) schema["description"] = description;
    return schema;
}

json::object string(std::string_view description) { return typed("string", description); }
json::object boolean(std::string_view description) { return typed("boolean", description); }
json::object any(std::string_view description) { return {{"description", description}}; }

json::object integer(std::string_view description, std::int64_t minimum, std::int64_t maximum)
{
    return bounded("integer", description, minimum, maximum);
}

json::object number(std::string_view description, double minimum, double maximum)
{
    return bounded("number", description, minimum, maximum);
}

json::object array(std::string_view description, json::object items)
{
    auto schema = typed("array", description);
    schema["items"] = std::move(items);
    return schema;
}

json::object object(std::string_view description, properties members, names required)
{
    auto schema = typed("object", description);
    auto& all = schema["properties"].emplace_object();
    for (const auto& [name, member] : members) all[name] = member;
    if (required.size() != 0) schema["required"] = list(required);
    return schema;
}

json::object one_of(std::string_view description, names values)
{
    auto schema = string(description);
    schema["enum"] = list(values);
    return schema;
}

json::object output(properties members, names required)
{
    auto schema = object({}, members);
    json::object failed;
    failed["properties"] = json::object{{"success", json::object{{"const", false}}}};
    failed["required"] = json::array{"success", "error"};
    schema["anyOf"] = json::array{json::object{{"required", list(required)}}, std::move(failed)};
    return schema;
}

}  // namespace cmcp::schema
