#pragma once

#include "tools/schema.hpp"

#include <chrono>
#include <cmath>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

inline constexpr struct default_rule {
} with_default;  ///< the schema publishes the member's initial value as default

/// The items of an array are objects with these fields.
template <class Item>
struct items {
    std::string_view description;
    fields<Item> described;
};

template <class Least, class Most>
json::object between(Least least, Most most)
{
    using number = std::common_type_t<Least, Most>;
    return {{"minimum", static_cast<number>(least)}, {"maximum", static_cast<number>(most)}};
}

json::object one_of(schema::names values);  ///< of a string

/// Seconds that a caller allows; the description comes with it.
json::object time_limit(std::string_view description);

}  // namespace rule

namespace detail {

inline void read_value(const json::value& from, std::string& into) { into = from.as_string(); }
inline void read_value(const json::value& from, bool& into) { into = from.as_bool(); }

inline void read_value(const json::value& seconds, std::chrono::milliseconds& into)
{
    into = std::chrono::milliseconds(std::llround(seconds.to_number<double>() * 1000));
}

template <class Number>
requires std::integral<Number> || std::floating_point<Number>
void read_value(const json::value& from, Number& into)
{
    into = from.to_number<Number>();  // 5.0 is an integer, too
}

template <class Value>
void read_value(const json::value& from, std::optional<Value>& into)
{
    read_value(from, into.emplace());
}

template <class Value>
requires requires(const json::value& from, Value& into) { read_value(from, into); }
void read_value(const json::value& from, std::vector<Value>& into)
{
    for (const auto& item : from.as_array()) read_value(item, into.emplace_back());
}

template <class Value>
struct json_type {
    static constexpr std::string_view name = std::floating_point<Value> ? "number" : "integer";
};
template <>
struct json_type<std::string> {
    static constexpr std::string_view name = "string";
};
template <>
struct json_type<bool> {
    static constexpr std::string_view name = "boolean";
};
template <>
struct json_type<std::chrono::milliseconds> {
    static constexpr std::string_view name = "number";  // of seconds
};
template <class Value>
struct json_type<std::vector<Value>> {
    static constexpr std::string_view name = "array";
};
template <class Value>
struct json_type<std::optional<Value>> : json_type<Value> {
};

}  // namespace detail

/// An argument. A field of a base struct is a field of the input, too.
template <class Input>
struct field {
    template <class Owner, class Value, class... Rules>
    field(std::string_view its_name, Value Owner::*member, std::string_view description, const Rules&... rules)
        : name(its_name), schema(schema::typed(detail::json_type<Value>::name, description))
    {
        if constexpr (requires(const json::value& from, Value& into) { detail::read_value(from, into); })
            read = [member](Input& into, const json::value& from) { detail::read_value(from, into.*member); };
        (apply(rules, member), ...);
    }

    template <class Base>
    requires std::derived_from<Input, Base> &&(!std::same_as<Input, Base>)field(const field<Base>& inherited)
        : name(inherited.name), schema(inherited.schema), required(inherited.required), read(inherited.read)
    {
    }

    std::string name;
    json::object schema;
    bool required = false;
    std::function<void(Input&, const json::value&)> read;  ///< of a value that fits the schema

private:
    void apply(const rule::required_rule&, auto) { required = true; }
    void apply(const rule::default_rule&, auto member) { schema["default"] = Input{}.*member; }
    void apply(const json::object& keywords, auto)
    {
        for (const auto& keyword : keywords) schema[keyword.key()] = keyword.value();
    }
    template <class Item>
    void apply(const rule::items<Item>& items, auto member);
};

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

}  // namespace cmcp
