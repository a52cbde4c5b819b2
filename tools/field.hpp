#pragma once

#include "jsonrpc/json.hpp"

#include <chrono>
#include <cmath>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Short ways to write the schemas of results: root objects without $ref, unions or oneOf, which every client
/// understands.
namespace cmcp::schema {

using properties = std::initializer_list<std::pair<std::string_view, json::object>>;
using names = std::initializer_list<std::string_view>;

/// Any type by its name, with further keywords.
json::object typed(std::string_view type, std::string_view description, const json::object& keywords = {});
json::object string(std::string_view description);
json::object boolean(std::string_view description);
json::object array(std::string_view description, json::object items);
json::object object(std::string_view description, properties members, names required = {});
json::object any(std::string_view description);                   ///< no type: any JSON value
json::object one_of(std::string_view description, names values);  ///< a string out of a fixed set ("enum")
json::array list(names values);

/// An output schema: more members may come. `error`, and `success` where it is required, are there without being
/// named. A failure has {success: false, error} in place of the required ones; clients hold failures against the
/// schema, too.
json::object output(properties members, names required = {});

}  // namespace cmcp::schema

/// The arguments of a tool, described once: each field is a member of the tool's input struct. The input schema and the
/// reading of arguments follow from the fields.
namespace cmcp {

template <class Input>
struct field;

template <class Input>
using fields = std::vector<field<Input>>;

/// Rules of a field beside its type and description. Any keywords of JSON Schema in a json::object are a rule, too;
/// the schema has them in the order of the rules.
namespace rule {

inline constexpr struct required_rule {
} required;  ///< a call without the argument is refused

inline constexpr struct unlisted_rule {
} unlisted;  ///< lists of tools leave the argument out: a model does well without it

inline constexpr struct default_rule {
} with_default;  ///< the schema publishes the member's initial value as default

/// The items of an array are objects with these fields.
template <class Item>
struct items {
    std::string_view description;
    fields<Item> described;
};

/// The value is an object with these fields.
template <class Part>
struct members {
    fields<Part> described;
};

template <class Least, class Most>
json::object between(Least least, Most most)
{
    using number = std::common_type_t<Least, Most>;
    return {{"minimum", static_cast<number>(least)}, {"maximum", static_cast<number>(most)}};
}

json::object one_of(schema::names values);  ///< of a string

/// A value that a call would give; a refusal shows it.
json::object example(json::value value);

/// The same; lists of tools show it, too.
struct listed_example {
    json::value value;
};

/// Clients of 2026-07-28 repeat the value in the header Mcp-Param-<name>, by which a proxy or another server finds
/// where a handle leads.
json::object header(std::string_view name);

/// Seconds that a caller allows; the description comes with it.
json::object time_limit(std::string_view description);

}  // namespace rule

namespace detail {

template <class Value>
void read_value(const json::value& from, Value& into)
{
    into = json::value_to<Value>(from);  // 5.0 is an integer, too
}

inline void read_value(const json::value& seconds, std::chrono::milliseconds& into)
{
    into = std::chrono::milliseconds(std::llround(seconds.to_number<double>() * 1000));
}

template <class Value>
void read_value(const json::value& from, std::optional<Value>& into)
{
    read_value(from, into.emplace());
}

template <class Value>
constexpr std::string_view json_type()
{
    if constexpr (requires(Value value) { value.has_value(); })
        return json_type<typename Value::value_type>();
    else if constexpr (std::same_as<Value, std::string>)
        return "string";
    else if constexpr (std::same_as<Value, bool>)
        return "boolean";
    else if constexpr (std::integral<Value>)
        return "integer";
    else if constexpr (std::ranges::range<Value>)
        return "array";
    else
        return "number";  // of seconds, too
}

template <class Rule>
constexpr bool reads_items = false;  // the rule reads the value
template <class Item>
constexpr bool reads_items<rule::items<Item>> = true;
template <class Part>
constexpr bool reads_items<rule::members<Part>> = true;

}  // namespace detail

/// An argument. A field of a base struct is a field of the input, too.
template <class Input>
struct field {
    template <class Owner, class Value, class... Rules>
    field(std::string_view its_name, Value Owner::*member, std::string_view description, const Rules&... rules)
        : name(its_name), schema(schema::typed(detail::json_type<Value>(), description))
    {
        if constexpr (!(detail::reads_items<Rules> || ...))
            read = [member](Input& into, const json::value& from) { detail::read_value(from, into.*member); };
        (apply(rules, member), ...);
    }

    template <class Base>
    requires std::derived_from<Input, Base> &&(!std::same_as<Input, Base>)field(const field<Base>& inherited)
        : name(inherited.name),
          schema(inherited.schema),
          required(inherited.required),
          listed(inherited.listed),
          shows_example(inherited.shows_example),
          read(inherited.read)
    {
    }

    std::string name;
    json::object schema;
    bool required = false;
    bool listed = true;                                    ///< in lists of tools
    bool shows_example = false;                            ///< there
    std::function<void(Input&, const json::value&)> read;  ///< of a value that fits the schema

private:
    void apply(const rule::required_rule&, auto) { required = true; }
    void apply(const rule::unlisted_rule&, auto) { listed = false; }
    void apply(const rule::listed_example& example, auto)
    {
        schema["examples"] = json::array{example.value};
        shows_example = true;
    }
    void apply(const rule::default_rule&, auto member) { schema["default"] = Input{}.*member; }
    void apply(const json::object& keywords, auto)
    {
        for (const auto& keyword : keywords) schema[keyword.key()] = keyword.value();
    }
    template <class Item>
    void apply(const rule::items<Item>& items, auto member);
    template <class Part>
    void apply(const rule::members<Part>& members, auto member);
};

/// The field, left out of lists of tools.
template <class Input>
field<Input> unlisted(field<Input> rare)
{
    rare.listed = false;
    return rare;
}

/// The schema of an object with these fields, without a word on others.
template <class Input>
json::object object_schema(std::string_view description, const fields<Input>& all)
{
    auto schema = schema::typed("object", description);
    auto& properties = schema["properties"].emplace_object();
    json::array required;
    for (const auto& each : all) {
        properties[each.name] = each.schema;
        if (each.required) required.emplace_back(each.name);
    }
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
}

/// The input schema of a tool: an argument that no field names is refused.
template <class Input>
json::object input_schema(const fields<Input>& all)
{
    auto schema = object_schema({}, all);
    schema["additionalProperties"] = false;
    return schema;
}

/// The schema as a model needs it. Bounds and the refusal of further arguments are left out, because a call
/// that goes beyond them is answered with the bound, and so are defaults and examples that say nothing.
json::object lean_schema(json::object schema, bool with_examples = false);

/// The input schema as lists of tools have it.
template <class Input>
json::object listed_schema(const fields<Input>& all)
{
    fields<Input> listed;
    for (const auto& each : all) {
        if (!each.listed) continue;
        listed.push_back(each);
        listed.back().schema = lean_schema(each.schema, each.shows_example);
    }
    return object_schema({}, listed);
}

/// The input that `arguments` stand for, which fit the schema. What is left out keeps its initial value.
template <class Input>
Input read_input(const fields<Input>& all, const json::object& arguments)
{
    Input input{};
    for (const auto& each : all)
        if (const auto* value = arguments.if_contains(each.name)) each.read(input, *value);
    return input;
}

template <class Input>
template <class Item>
void field<Input>::apply(const rule::items<Item>& items, auto member)
{
    schema["items"] = object_schema(items.description, items.described);
    read = [member, all = items.described](Input& into, const json::value& from) {
        for (const auto& item : from.as_array()) (into.*member).push_back(read_input(all, item.as_object()));
    };
}

template <class Input>
template <class Part>
void field<Input>::apply(const rule::members<Part>& members, auto member)
{
    const std::string description(schema.contains("description") ? schema["description"].as_string() : "");
    schema = object_schema(description, members.described);
    schema["additionalProperties"] = false;
    read = [member, all = members.described](Input& into, const json::value& from) {
        into.*member = read_input(all, from.as_object());
    };
}

}  // namespace cmcp
