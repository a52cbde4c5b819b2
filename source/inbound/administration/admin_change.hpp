#pragma once

#include "http/exchange.hpp"
#include "http/route.hpp"
#include "jsonrpc/json.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// Shared by the routes with which administrators change keys, quotas and secrets.
namespace cmcp {

/// Makes a store with its first use, so that a server whose administrators do not use it keeps no file for it.
template <class Store, class File>
std::function<Store&()> opened_at_first_use(File file)
{
    return [kept = std::make_shared<std::unique_ptr<Store>>(), file = std::move(file)]() -> Store& {
        if (!*kept) *kept = std::make_unique<Store>(file);
        return **kept;
    };
}

http_reply uncached_reply(const json::object& body);

/// The end of the path, decoded.
std::string last_part_of_path(const http_request& request);

/// Puts what was changed into the log and the audit.
void note_admin_change(exchange& x, std::string_view event, const std::string& what);

/// An operation whose answer is an object with `member`. A path that ends with a star ends with an id; `takes`: the
/// schema of the body, empty where there is none.
route_operation admin_operation(std::string path, std::string_view id, std::string_view summary,
                                std::string_view member, json::object takes);

}  // namespace cmcp
