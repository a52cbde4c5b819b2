#include "mcp/tool_registry.hpp"

#include "jsonrpc/write_json.hpp"
#include "mcp/dropped_arguments.hpp"
#include "mcp/lenient_arguments.hpp"
#include "mcp/schema_validator.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

struct tool_registry::entry {
    tool* item;
    schema_validator schema;
};

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
    auto rest = arguments;
    auto unknown = take_out_unknown(rest, schema);
    unknown.resize(std::min(unknown.size(), most_named));
    for (const auto& name : unknown) misfit += "; `" + name.substr(0, 100) + "` is not known";
    const auto example = example_arguments(schema, argument_in(misfit));
    if (!example.empty()) misfit += "; for example: " + jsonrpc::write_json(example);
    return misfit;
}

}  // namespace

tool_registry::tool_registry() = default;

tool_registry::~tool_registry() = default;

void tool_registry::add(std::unique_ptr<tool> item)
{
    const auto& definition = item->definition();
    if (find(definition.name)) throw std::invalid_argument("a tool named " + definition.name + " exists already");
    try {
        by_name_.emplace(definition.name, entry{item.get(), schema_validator(open_schema(definition.input_schema))});
    } catch (const std::invalid_argument& failure) {
        throw std::invalid_argument("tool " + definition.name + ": " + failure.what());
    }
    const bool usable = item->obstacle().empty();
    (usable ? tools_ : unusable_).push_back(std::move(item));
    if (usable && listener_) listener_();
}

void tool_registry::remove(std::string_view name)
{
    const auto position = std::find_if(tools_.begin(), tools_.end(),
                                       [name](const auto& item) { return item->definition().name == name; });
    if (position == tools_.end()) return;
    by_name_.erase((*position)->definition().name);
    removed_.push_back(std::move(*position));
    tools_.erase(position);
    if (listener_) listener_();
}

tool* tool_registry::find(std::string_view name) const
{
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : known->second.item;
}

std::vector<const tool*> tool_registry::listed(const caller& who) const
{
    std::vector<const tool*> shown;
    for (const auto& item : tools_)
        if (!item->definition().for_code_alone && who.scopes.covers(item->definition().needs) &&
            profiles_.shows(who, item->definition().name))
            shown.push_back(item.get());
    return shown;
}

std::string tool_registry::validate(std::string_view name, json::object& arguments) const
{
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return {};
    const auto& definition = known->second.item->definition();
    const auto& schema = definition.input_schema;
    take_as_meant(arguments, schema);
    auto misfit = known->second.schema.check(arguments);
    if (!misfit.empty()) return with_advice(std::move(misfit), schema, arguments);
    return definition.annotations.read_only ? std::string() : dropped_arguments(arguments, schema);
}

}  // namespace cmcp
