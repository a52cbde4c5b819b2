#pragma once

#include "jsonrpc/json.hpp"

#include <compare>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace cmcp {

/// Something that changed. `uri`: of the resource (resources/updated), or the id of the task (notifications/tasks).
struct change {
    std::string method;
    std::string uri;

    auto operator<=>(const change&) const = default;
};

inline constexpr const char* task_changed = "notifications/tasks";
inline constexpr const char* resource_updated = "notifications/resources/updated";

/// Which changes a listener of 2026-07-28 asked for (`SubscriptionFilter`).
struct change_filter {
    bool tools = false;
    bool prompts = false;
    std::set<std::string, std::less<>> resources;
    std::set<std::string, std::less<>> tasks;  ///< ids

    bool lets_through(const change& what) const;
    json::object describe() const;
};

}  // namespace cmcp
