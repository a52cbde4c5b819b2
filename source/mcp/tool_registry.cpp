#include "mcp/tool_registry.hpp"

#include "mcp/schema_validator.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace cmcp {

struct tool_registry::compiled_schemas {
    std::map<std::string, schema_validator, std::less<>> by_name;
    std::map<std::string, tool*, std::less<>> tools;

    // A removed tool may still be running; it is kept until the registry ends.
    std::vector<std::unique_ptr<tool>> removed;
};

tool_registry::tool_registry() : schemas_(std::make_unique<compiled_schemas>()) {}

tool_registry::~tool_registry() = default;

void tool_registry::add(std::unique_ptr<tool> item)
{
    const auto& definition = item->definition();
    if (find(definition.name)) throw std::invalid_argument("a tool named " + definition.name + " exists already");
    try {
        schemas_->by_name.emplace(definition.name, schema_validator(definition.input_schema));
    } catch (const std::invalid_argument& failure) {
        throw std::invalid_argument("tool " + definition.name + ": " + failure.what());
    }
    schemas_->tools.emplace(definition.name, item.get());
    const bool usable = item->obstacle().empty();
    (usable ? tools_ : unusable_).push_back(std::move(item));
    if (usable && listener_) listener_();
}

void tool_registry::remove(std::string_view name)
{
    const auto position = std::find_if(tools_.begin(), tools_.end(),
                                       [name](const auto& item) { return item->definition().name == name; });
    if (position == tools_.end()) return;
    schemas_->by_name.erase((*position)->definition().name);
    schemas_->tools.erase((*position)->definition().name);
    schemas_->removed.push_back(std::move(*position));
    tools_.erase(position);
    if (listener_) listener_();
}

tool* tool_registry::find(std::string_view name) const
{
    const auto entry = schemas_->tools.find(name);
    return entry == schemas_->tools.end() ? nullptr : entry->second;
}

std::string tool_registry::validate(std::string_view name, json::object& arguments) const
{
    const auto validator = schemas_->by_name.find(name);
    return validator == schemas_->by_name.end() ? std::string() : validator->second.check(arguments);
}

}  // namespace cmcp
