#include "mcp/arguments/schema_validator.hpp"

#include "jsonrpc/read_object.hpp"
#include "text/number.hpp"

// Without it the library ends the process instead of throwing.
#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1
#endif
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace cmcp {

namespace {

// std::regex recurses once a character: a long text would overflow the stack.
constexpr std::size_t longest_matched_text = 4096;

std::string too_long_to_match(const json::object& arguments, const json::object& schema)
{
    const auto* properties = schema.if_contains("properties");
    if (!properties || !properties->is_object()) return {};
    for (const auto& member : arguments) {
        const auto* property = properties->get_object().if_contains(member.key());
        if (!property || !property->is_object() || !property->get_object().contains("pattern")) continue;
        const auto* text = member.value().if_string();
        if (text && text->size() > longest_matched_text)
            return "argument `" + std::string(member.key()) + "` must be no longer than " +
                   std::to_string(longest_matched_text) + " bytes";
    }
    return {};
}

}  // namespace

struct schema_validator::compiled {
    json::value source;  // the parsed schema keeps references into it
    valijson::Schema schema;
    mutable valijson::Validator validator;  // keeps compiled patterns, for the io thread

    std::string check(json::object& arguments, valijson::Validator& with) const;
};

namespace {

bool fits(const valijson::Schema& schema, valijson::Validator& with, const json::value& arguments,
          valijson::ValidationResults* results = nullptr)
{
    return with.validate(schema, valijson::adapters::BoostJsonAdapter(arguments), results);
}

// A part of an argument that is a long list or a large object.
json::value part_of(const json::value& argument, std::size_t begin, std::size_t count)
{
    if (const auto* list = argument.if_array()) {
        json::array part;
        for (std::size_t i = begin; i < std::min(begin + count, list->size()); ++i) part.push_back((*list)[i]);
        return part;
    }
    json::object part;
    const auto& members = argument.get_object();
    for (std::size_t i = begin; i < std::min(begin + count, members.size()); ++i) {
        const auto& member = *(members.begin() + static_cast<std::ptrdiff_t>(i));
        part.emplace(member.key(), member.value());
    }
    return part;
}

std::size_t size_of(const json::value& argument)
{
    if (const auto* list = argument.if_array()) return list->size();
    const auto* object = argument.if_object();
    return object == nullptr ? 0 : object->size();
}

constexpr std::size_t most_in_part = 256;

// Arguments in which a part stands for each long one, and where each part begins.
struct parts_of_arguments {
    json::value value;
    std::map<std::string, std::size_t, std::less<>> begins;
};

// The parts are the first ones that do not fit. The validator lists all that does not fit, which may be each of many
// thousand items, and one finding is reported.
parts_of_arguments parts_of(const valijson::Schema& schema, valijson::Validator& with, const json::object& described,
                            const json::object& arguments)
{
    const auto& properties = object_of(described, "properties");
    json::object all;
    std::vector<const json::key_value_pair*> long_ones;
    for (const auto& each : arguments) {
        if (!properties.contains(each.key())) continue;
        const bool is_long = size_of(each.value()) > most_in_part;
        if (is_long) long_ones.push_back(&each);
        all[each.key()] = is_long ? part_of(each.value(), 0, most_in_part) : each.value();
    }
    parts_of_arguments parts{std::move(all), {}};
    for (const auto* each : long_ones) {
        auto& part = parts.value.get_object()[each->key()];
        auto& begin = parts.begins[std::string(each->key())];
        while (fits(schema, with, parts.value) && begin + most_in_part < size_of(each->value())) {
            begin += most_in_part;
            part = part_of(each->value(), begin, most_in_part);
        }
    }
    return parts;
}

// A step of the validator's path: [name] or [3].
std::string_view inside_brackets(std::string_view step)
{
    return step.size() < 2 ? std::string_view() : step.substr(1, step.size() - 2);
}

// Where the finding is in the whole.
void move_by(std::vector<std::string>& context, const parts_of_arguments& parts)
{
    if (context.size() < 3) return;
    auto name = inside_brackets(context[1]);
    if (name.starts_with('"')) name = inside_brackets(name);
    const auto begin = parts.begins.find(name);
    const auto index = read_number<std::size_t>(inside_brackets(context[2]));
    if (begin != parts.begins.end() && index) context[2] = "[" + std::to_string(begin->second + *index) + "]";
}

std::optional<valijson::ValidationResults::Error> first_finding(const valijson::Schema& schema,
                                                                valijson::Validator& with, const json::value& arguments)
{
    valijson::ValidationResults results;
    fits(schema, with, arguments, &results);
    valijson::ValidationResults::Error error;
    return results.popError(error) ? std::optional(std::move(error)) : std::nullopt;
}

// Of arguments that do not fit.
std::string sentence_of(const valijson::Schema& schema, valijson::Validator& with, const json::object& described,
                        const json::value& arguments)
{
    const auto& sent = arguments.get_object();
    const bool is_long =
        std::any_of(sent.begin(), sent.end(), [](const auto& each) { return size_of(each.value()) > most_in_part; });
    std::optional<valijson::ValidationResults::Error> finding;
    if (is_long) {
        const auto parts = parts_of(schema, with, described, sent);
        finding = first_finding(schema, with, parts.value);
        if (finding) move_by(finding->context, parts);
    }
    if (!finding) finding = first_finding(schema, with, arguments);
    return finding ? schema_sentence(described, arguments, finding->context, finding->description)
                   : "the arguments do not fit the tool's input schema";
}

}  // namespace

std::string schema_validator::compiled::check(json::object& arguments, valijson::Validator& with) const
{
    const auto& described = source.get_object();
    if (auto sentence = too_long_to_match(arguments, described); !sentence.empty()) return sentence;
    json::value target(std::move(arguments));  // the adapter looks at values: lent, not copied
    std::string sentence;
    try {
        if (!fits(schema, with, target)) sentence = sentence_of(schema, with, described, target);
    } catch (...) {
        arguments = std::move(target.get_object());
        throw;
    }
    arguments = std::move(target.get_object());
    return sentence;
}

schema_validator::schema_validator(const json::object& schema) : compiled_(std::make_unique<compiled>())
{
    compiled_->source = schema;
    try {
        valijson::SchemaParser parser;
        valijson::adapters::BoostJsonAdapter adapter(compiled_->source);
        parser.populateSchema(adapter, compiled_->schema);
    } catch (const std::exception& failure) {
        throw std::invalid_argument(std::string("bad input schema: ") + failure.what());
    }
}

schema_validator::schema_validator(schema_validator&&) noexcept = default;
schema_validator& schema_validator::operator=(schema_validator&&) noexcept = default;
schema_validator::~schema_validator() = default;

std::string schema_validator::check(json::object& arguments) const
{
    return compiled_->check(arguments, compiled_->validator);
}

std::string schema_validator::check_anywhere(json::object& arguments) const
{
    valijson::Validator own;
    return compiled_->check(arguments, own);
}

}  // namespace cmcp
