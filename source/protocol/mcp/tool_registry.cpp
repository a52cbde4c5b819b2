#include "mcp/tool_registry.hpp"

#include "mcp/arguments/argument_rules.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

struct tool_registry::entry {
    tool* item;
    std::shared_ptr<const argument_rules> rules;
};

tool_registry::tool_registry() = default;

tool_registry::~tool_registry() = default;

void tool_registry::add(std::unique_ptr<tool> item)
{
    const auto& definition = item->definition();
    if (find(definition.name)) throw std::invalid_argument("a tool named " + definition.name + " exists already");
    try {
        by_name_.emplace(definition.name, entry{item.get(), std::make_shared<const argument_rules>(definition)});
    } catch (const std::invalid_argument& failure) {
        throw std::invalid_argument("tool " + definition.name + ": " + failure.what());
    }
    const bool usable = item->obstacle().empty();
    (usable ? tools_ : unusable_).push_back(std::move(item));
    if (usable) changed();
}

void tool_registry::remove(std::string_view name)
{
    const auto position = std::find_if(tools_.begin(), tools_.end(),
                                       [name](const auto& item) { return item->definition().name == name; });
    if (position == tools_.end()) return;
    by_name_.erase((*position)->definition().name);
    removed_.push_back(std::move(*position));
    tools_.erase(position);
    changed();
}

tool* tool_registry::find(std::string_view name) const
{
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : known->second.item;
}

std::vector<const tool*> tool_registry::listed(const caller& who) const
{
    std::vector<const tool*> shown;
    for (const auto& item : tools_) {
        const auto& about = item->definition();
        if (about.for_code_alone || !who.scopes.covers(about.needs)) continue;
        const bool is_shown =
            about.leads_to_others ? profiles_.names(who, about.name) : profiles_.shows(who, about.name);
        if (is_shown) shown.push_back(item.get());
    }
    return shown;
}

std::shared_ptr<const argument_rules> tool_registry::rules_of(std::string_view name) const
{
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : known->second.rules;
}

std::string tool_registry::validate(std::string_view name, json::object& arguments) const
{
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? std::string() : known->second.rules->validate(arguments);
}

}  // namespace cmcp
