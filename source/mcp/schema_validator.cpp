#include "mcp/schema_validator.hpp"

// Without it the library ends the process instead of throwing.
#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1
#endif
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <optional>
#include <stdexcept>

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
    mutable valijson::Validator validator;
};

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
    const auto& schema = compiled_->source.get_object();
    if (auto sentence = too_long_to_match(arguments, schema); !sentence.empty()) return sentence;
    json::value target(std::move(arguments));  // the adapter looks at values: lent, not copied
    std::optional<valijson::ValidationResults> results;
    bool fits = false;
    try {
        const valijson::adapters::BoostJsonAdapter adapter(target);
        fits = compiled_->validator.validate(compiled_->schema, adapter, nullptr);
        if (!fits) compiled_->validator.validate(compiled_->schema, adapter, &results.emplace());
    } catch (...) {
        arguments = std::move(target.get_object());
        throw;
    }
    arguments = std::move(target.get_object());
    if (fits) return {};
    valijson::ValidationResults::Error error;
    results->popError(error);
    return schema_sentence(schema, arguments, error.context, error.description);
}

}  // namespace cmcp
