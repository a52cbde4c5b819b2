#include "mcp/arguments/lenient_arguments.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/ascii.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr double most_exact = 9e15;

constexpr std::array<std::pair<std::string_view, bool>, 6> truths{
    {{"true", true}, {"false", false}, {"yes", true}, {"no", false}, {"1", true}, {"0", false}}};

std::string_view type_of(const json::object& schema) { return view_of(schema, "type"); }

std::optional<std::string_view> text_in(const json::value& value)
{
    const auto* text = value.if_string();
    return text ? std::optional(trimmed(std::string_view(*text), white_space)) : std::nullopt;
}

void number_as_meant(json::value& value)
{
    const auto text = text_in(value);
    if (!text) return;
    if (const auto whole = read_number<std::int64_t>(*text))
        value = *whole;
    else if (const auto number = read_number<double>(*text); number && std::isfinite(*number))
        value = *number;
}

// JSON knows one kind of number: 5.0 is the integer 5.
void integer_as_meant(json::value& value)
{
    number_as_meant(value);
    const auto* number = value.if_double();
    if (number && std::trunc(*number) == *number && std::abs(*number) < most_exact)
        value = static_cast<std::int64_t>(*number);
}

void boolean_as_meant(json::value& value)
{
    if (value.is_bool()) return;
    const auto text = value.is_int64() ? std::to_string(value.get_int64()) : std::string(text_in(value).value_or(""));
    for (const auto& [word, truth] : truths)
        if (equal_ignoring_case(text, word)) value = truth;
}

void string_as_meant(json::value& value, const json::object& schema)
{
    if (value.is_number() || value.is_bool()) value = jsonrpc::write_json(value);
    const auto* choices = schema.if_contains("enum");
    const auto text = text_in(value);
    if (!text || !choices || !choices->is_array()) return;
    for (const auto& choice : choices->get_array())
        if (choice.is_string() && equal_ignoring_case(*text, std::string_view(choice.get_string()))) {
            value = choice;
            return;
        }
}

// Some clients send lists and objects as the text that would be their JSON.
void parse_text(json::value& value, json::kind wanted)
{
    const auto text = text_in(value);
    if (!text || !text->starts_with(wanted == json::kind::array ? '[' : '{')) return;
    auto parsed = jsonrpc::read_bounded(*text, {.depth = 32});
    if (parsed && parsed->kind() == wanted) value = std::move(*parsed);
}

// "ask" for {"ask": true}, where the object has such a switch.
void switch_on(json::value& value, const json::object& schema)
{
    const auto text = text_in(value);
    if (!text || type_of(object_of(object_of(schema, "properties"), *text)) != "boolean") return;
    json::object object(value.storage());
    object[*text] = true;
    value = std::move(object);
}

void value_as_meant(json::value& value, const json::object& schema);

void list_as_meant(json::value& value, const json::object& schema)
{
    parse_text(value, json::kind::array);
    if (!value.is_array()) {
        json::array one(value.storage());
        one.push_back(std::move(value));
        value = std::move(one);
    }
    for (auto& item : value.get_array()) value_as_meant(item, object_of(schema, "items"));
}

void object_as_meant(json::value& value, const json::object& schema)
{
    parse_text(value, json::kind::object);
    switch_on(value, schema);
    if (auto* object = value.if_object()) take_as_meant(*object, schema);
}

void value_as_meant(json::value& value, const json::object& schema)
{
    const auto type = type_of(schema);
    if (type == "integer") integer_as_meant(value);
    if (type == "number") number_as_meant(value);
    if (type == "boolean") boolean_as_meant(value);
    if (type == "string") string_as_meant(value, schema);
    if (type == "array") list_as_meant(value, schema);
    if (type == "object") object_as_meant(value, schema);
}

bool is_open(const json::object& schema)
{
    const auto* further = schema.if_contains("additionalProperties");
    return !further || *further != false;
}

// The names that a schema requires: looked for in few calls, and schemas of other servers may have thousands.
class required_names {
public:
    explicit required_names(const json::object& schema) : schema_(schema) {}

    bool contain(std::string_view name)
    {
        if (!std::exchange(sorted_, true)) sort();
        return std::binary_search(names_.begin(), names_.end(), name);
    }

private:
    void sort()
    {
        const auto* required = schema_.if_contains("required");
        if (required == nullptr || !required->is_array()) return;
        for (const auto& each : required->get_array())
            if (const auto* name = each.if_string()) names_.emplace_back(*name);
        std::sort(names_.begin(), names_.end());
    }

    const json::object& schema_;
    std::vector<std::string_view> names_;
    bool sorted_ = false;
};

// No argument is unknown to such a schema.
bool names_all(const json::object& schema) { return is_open(schema) || !schema.contains("properties"); }

json::kind kind_of(const json::object& schema)
{
    const auto type = type_of(schema);
    if (type == "string") return json::kind::string;
    if (type == "array") return json::kind::array;
    return type == "object" ? json::kind::object : json::kind::double_;
}

// An empty text means something only where the schema lets any text pass.
bool takes_empty_text(const json::object& schema)
{
    if (schema.contains("enum") || schema.contains("pattern") || number_of(schema, "minLength") > 0) return false;
    return view_of(schema, "default").empty();
}

bool is_empty(const json::value& value, const json::object& schema)
{
    if (jsonrpc::is_absent(value, kind_of(schema))) return true;
    const auto text = text_in(value);
    return text && text->empty() && (type_of(schema) != "string" || !takes_empty_text(schema));
}

json::value example_value(const json::object& schema)
{
    if (const auto* examples = schema.if_contains("examples"); examples && examples->is_array())
        return examples->get_array().empty() ? json::value() : examples->get_array().front();
    if (const auto* choices = schema.if_contains("enum"); choices && choices->is_array())
        return choices->get_array().empty() ? json::value() : choices->get_array().front();
    for (const char* bound : {"default", "minimum"})
        if (const auto* value = schema.if_contains(bound)) return *value;
    const auto type = type_of(schema);
    if (type == "boolean") return true;
    if (type == "integer" || type == "number") return 10;
    if (type == "object") return example_arguments(schema, {});
    if (type != "array") return "…";
    json::array list;
    list.push_back(example_value(object_of(schema, "items")));
    return list;
}

}  // namespace

void take_as_meant(json::object& arguments, const json::object& schema)
{
    required_names required(schema);
    std::vector<const json::value*> absent;
    for (const auto& [name, property] : object_of(schema, "properties")) {
        auto* value = arguments.if_contains(name);
        const auto* described = value ? property.if_object() : nullptr;
        if (!described || !described->contains("type")) continue;
        const bool may_be_null = !described->at("type").is_string() || type_of(*described) == "null";
        // An empty value that is required stays, so that the refusal says what is wrong with it.
        const bool is_given = !value->is_null() && (!is_empty(*value, *described) || required.contain(name));
        if (!may_be_null && !is_given)
            absent.push_back(value);
        else
            value_as_meant(*value, *described);
    }
    if (absent.empty()) return;
    std::sort(absent.begin(), absent.end());
    jsonrpc::keep_members(arguments, [&absent](const auto& each) {
        return !std::binary_search(absent.begin(), absent.end(), &each.value());
    });
}

std::vector<std::string> unknown_arguments(const json::object& arguments, const json::object& schema, std::size_t most)
{
    std::vector<std::string> unknown;
    if (names_all(schema)) return unknown;
    const auto& properties = object_of(schema, "properties");
    for (const auto& each : arguments) {
        if (unknown.size() == most) break;
        if (!properties.contains(each.key()) && !each.value().is_null()) unknown.emplace_back(each.key());
    }
    return unknown;
}

std::vector<std::string> take_out_unknown(json::object& arguments, const json::object& schema, std::size_t most)
{
    auto unknown = unknown_arguments(arguments, schema, most);
    if (names_all(schema)) return unknown;
    const auto& properties = object_of(schema, "properties");
    jsonrpc::keep_members(arguments, [&properties](const auto& each) { return properties.contains(each.key()); });
    return unknown;
}

json::object open_schema(json::object schema)
{
    if (!is_open(schema)) schema.erase("additionalProperties");
    return schema;
}

json::object example_arguments(const json::object& schema, std::string_view also)
{
    json::object example;
    required_names required(schema);
    for (const auto& [name, property] : object_of(schema, "properties")) {
        const bool shown = name == also || required.contain(name);
        if (shown && property.is_object()) example[name] = example_value(property.get_object());
    }
    return example;
}

}  // namespace cmcp
