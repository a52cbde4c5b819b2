#pragma once

#include "mcp/tool.hpp"
#include "mcp/tool_profiles.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class argument_rules;

/// The tools on offer, in the order in which they were added. A tool with an obstacle is not offered, but who calls it
/// all the same is answered by it.
class tool_registry {
public:
    /// Compiles the schema; throws std::invalid_argument when the name is taken or the schema is bad.
    void add(std::unique_ptr<tool> item);
    void remove(std::string_view name);

    tool* find(std::string_view name) const;
    const std::vector<std::unique_ptr<tool>>& all() const { return tools_; }
    std::vector<const tool*> listed(const caller& who) const;  ///< those of all() that the caller's profile shows
    tool_profiles& profiles() { return profiles_; }
    const tool_profiles& profiles() const { return profiles_; }
    const std::vector<std::unique_ptr<tool>>& unusable() const { return unusable_; }  ///< those with an obstacle

    /// Empty when `arguments` fits the tool's input schema, else a sentence that names the offending field and shows
    /// arguments that would do. Arguments are taken as they are meant (take_as_meant()); those that the schema does not
    /// name stay, but those of which dropped_arguments() says that they may not be left out.
    std::string validate(std::string_view name, json::object& arguments) const;
    std::string validate(std::string_view name, json::object&& arguments) const { return validate(name, arguments); }

    /// The arguments that a tool takes, for work on another thread. Null: there is no such tool.
    std::shared_ptr<const argument_rules> rules_of(std::string_view name) const;

    /// Code in sandboxes calls tools.
    void give_to_code() { code_has_tools_ = true; }
    bool code_has_tools() const { return code_has_tools_; }

    /// The definition of a tool is another now.
    void changed() const
    {
        ++changes_;
        if (listener_) listener_();
    }

    /// How often the tools or a definition have changed: what was made of them before is out of date.
    std::uint64_t changes() const { return changes_; }

    /// Called after add, remove or changed once the server runs (notifications/tools/list_changed).
    void on_change(std::function<void()> listener) { listener_ = std::move(listener); }

    tool_registry();
    ~tool_registry();

private:
    struct entry;
    std::map<std::string, entry, std::less<>> by_name_;
    std::vector<std::unique_ptr<tool>> tools_;
    std::vector<std::unique_ptr<tool>> unusable_;
    std::vector<std::unique_ptr<tool>> removed_;  // kept, because a removed tool may still run
    tool_profiles profiles_;
    bool code_has_tools_ = false;
    std::function<void()> listener_;
    mutable std::uint64_t changes_ = 0;
};

}  // namespace cmcp
