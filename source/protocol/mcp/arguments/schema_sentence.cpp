#include "mcp/arguments/schema_validator.hpp"

#include "text/number.hpp"
#include "text/utf8_text.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace cmcp {

namespace {

struct schema_location {
    std::string name;                      // as in JavaScript: files[2].path
    const json::object* schema = nullptr;  // null where the path leaves what `properties` and `items` describe
    const json::value* value = nullptr;
};

const json::object* object_member(const json::object* parent, std::string_view key)
{
    const auto* member = parent ? parent->if_contains(key) : nullptr;
    return member ? member->if_object() : nullptr;
}

void step_into_property(schema_location& at, std::string_view key)
{
    at.name += at.name.empty() ? std::string(key) : "." + std::string(key);
    at.schema = object_member(object_member(at.schema, "properties"), key);
    const auto* object = at.value ? at.value->if_object() : nullptr;
    at.value = object ? object->if_contains(key) : nullptr;
}

void step_into_item(schema_location& at, std::string_view index)
{
    at.name += "[" + std::string(index) + "]";
    at.schema = object_member(at.schema, "items");
    const auto position = read_number<std::size_t>(index).value_or(0);
    const auto* array = at.value ? at.value->if_array() : nullptr;
    at.value = array && position < array->size() ? &(*array)[position] : nullptr;
}

// A step reads [name] or [3]; the value tells which of the two it is.
void step_into(schema_location& at, std::string_view step)
{
    if (step.size() < 2) return;
    step = step.substr(1, step.size() - 2);
    if (step.size() > 1 && step.front() == '"') step = step.substr(1, step.size() - 2);
    if (at.value && at.value->is_array())
        step_into_item(at, step);
    else
        step_into_property(at, step);
}

std::string_view type_name(const json::value& value)
{
    switch (value.kind()) {
        case json::kind::null:
            return "null";
        case json::kind::bool_:
            return "boolean";
        case json::kind::string:
            return "string";
        case json::kind::array:
            return "array";
        case json::kind::object:
            return "object";
        default:
            return "number";
    }
}

std::string with_article(std::string_view noun)
{
    const bool vowel = std::string_view("aeio").find(noun.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + std::string(noun);
}

std::string shown_value(const json::value& value)
{
    if (const auto* number = value.if_double()) {
        char buffer[32];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, *number).ptr;
        return {buffer, end};
    }
    return json::serialize(value);
}

std::string listed(const json::array& values)
{
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + shown_value(value);
    return text;
}

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

std::string limit(const schema_location& at, std::string_view keyword, std::string_view before, std::string_view after)
{
    const auto* value = at.schema->if_contains(keyword);
    if (!value) return {};
    return std::string(before) + shown_value(*value) + std::string(after);
}

std::string type_reason(const schema_location& at)
{
    const auto* wanted = at.schema->if_contains("type");
    if (!wanted || !wanted->is_string()) return {};
    std::string reason = "must be " + with_article(wanted->get_string());
    if (at.value) reason += ", not " + with_article(type_name(*at.value));
    return reason;
}

std::string enum_reason(const schema_location& at)
{
    const auto* wanted = at.schema->if_contains("enum");
    return wanted && wanted->is_array() ? "must be one of " + listed(wanted->get_array()) : std::string();
}

std::string reason_from_schema(const schema_location& at, std::string_view finding)
{
    if (!at.schema) return {};
    if (starts_with(finding, "Value type not permitted")) return type_reason(at);
    if (starts_with(finding, "Failed to match against any enum")) return enum_reason(at);
    if (starts_with(finding, "Expected number greater than or")) return limit(at, "minimum", "must be >= ", "");
    if (starts_with(finding, "Expected number greater")) return limit(at, "exclusiveMinimum", "must be > ", "");
    if (starts_with(finding, "Expected number less than or")) return limit(at, "maximum", "must be <= ", "");
    if (starts_with(finding, "Expected number less")) return limit(at, "exclusiveMaximum", "must be < ", "");
    if (starts_with(finding, "String should be no more"))
        return limit(at, "maxLength", "must be no longer than ", " characters");
    if (starts_with(finding, "String should be no fewer"))
        return limit(at, "minLength", "must have at least ", " character(s)");
    if (starts_with(finding, "Array should contain no more"))
        return limit(at, "maxItems", "must hold at most ", " item(s)");
    if (starts_with(finding, "Array should contain no fewer"))
        return limit(at, "minItems", "must hold at least ", " item(s)");
    if (starts_with(finding, "Failed to match regex")) return limit(at, "pattern", "must match the pattern ", "");
    return {};
}

// The name that the finding quotes last: 'name'.
std::optional<std::string> quoted_name(std::string_view finding, std::string_view head)
{
    if (!starts_with(finding, head)) return std::nullopt;
    const auto end = finding.rfind('\'');
    const auto rest = finding.substr(0, end);
    const auto begin = head.back() == '\'' ? head.size() : rest.find(": '") + 3;
    return std::string(rest.substr(begin));
}

std::string argument(const schema_location& at, const std::string& member = {})
{
    constexpr std::size_t longest = 200;  // callers choose names
    std::string name = at.name;
    if (!member.empty()) name += (name.empty() ? "" : ".") + member;
    if (name.size() > longest) name = std::string(utf8_prefix(name, longest)) + "…";
    return name.empty() ? "the arguments object" : "argument `" + name + "`";
}

std::string known_names(const schema_location& at)
{
    const auto* properties = object_member(at.schema, "properties");
    if (!properties || properties->empty()) return "; none is known";
    std::string names;
    for (const auto& member : *properties) names += (names.empty() ? "`" : ", `") + std::string(member.key()) + "`";
    return "; known: " + names;
}

std::string lower_first(std::string_view finding)
{
    constexpr std::size_t longest = 500;
    std::string text(utf8_prefix(finding, longest));
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    while (!text.empty() && text.back() == '.') text.pop_back();
    return text;
}

}  // namespace

std::string schema_sentence(const json::object& schema, const json::value& arguments,
                            const std::vector<std::string>& context, const std::string& finding)
{
    schema_location at{{}, &schema, &arguments};
    for (std::size_t i = 1; i < context.size(); ++i) step_into(at, context[i]);
    if (const auto missing = quoted_name(finding, "Missing required property '"))
        return argument(at, *missing) + " is missing";
    if (const auto unknown = quoted_name(finding, "Object contains a property that could not be validated"))
        return argument(at, *unknown) + " is not known" + known_names(at);
    const auto reason = reason_from_schema(at, finding);
    return argument(at) + (reason.empty() ? " is not valid: " + lower_first(finding) : " " + reason);
}

}  // namespace cmcp
