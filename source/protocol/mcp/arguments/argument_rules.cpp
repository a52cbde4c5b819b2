#include "mcp/arguments/argument_rules.hpp"

#include "jsonrpc/write_json.hpp"
#include "mcp/arguments/dropped_arguments.hpp"
#include "mcp/arguments/lenient_arguments.hpp"

#include <string_view>
#include <utility>

namespace cmcp {

namespace {

// A sentence of the validator begins with: argument `name` or argument `name[2].member`.
std::string_view argument_in(std::string_view sentence)
{
    const auto begin = sentence.find('`');
    if (begin == std::string_view::npos) return {};
    const auto name = sentence.substr(begin + 1);
    return name.substr(0, name.find_first_of(".[`"));
}

std::string with_advice(std::string misfit, const json::object& schema, const json::object& arguments)
{
    constexpr std::size_t most_named = 5;
    for (const auto& name : unknown_arguments(arguments, schema, most_named))
        misfit += "; `" + name.substr(0, 100) + "` is not known";
    const auto example = example_arguments(schema, argument_in(misfit));
    if (!example.empty()) misfit += "; for example: " + jsonrpc::write_json(example);
    return misfit;
}

}  // namespace

argument_rules::argument_rules(const tool_definition& of)
    : schema_(of.input_schema), validator_(open_schema(of.input_schema)), read_only_(of.annotations.read_only)
{
}

std::string argument_rules::validate(json::object& arguments) const
{
    take_as_meant(arguments, schema_);
    return judged(arguments, validator_.check(arguments));
}

std::string argument_rules::validate_anywhere(json::object& arguments) const
{
    take_as_meant(arguments, schema_);
    return judged(arguments, validator_.check_anywhere(arguments));
}

std::string argument_rules::judged(json::object& arguments, std::string misfit) const
{
    if (!misfit.empty()) return with_advice(std::move(misfit), schema_, arguments);
    return read_only_ ? std::string() : dropped_arguments(arguments, schema_);
}

std::vector<std::string> argument_rules::take_out_unknown(json::object& arguments) const
{
    return cmcp::take_out_unknown(arguments, schema_, most_unknown_listed);
}

}  // namespace cmcp
