#pragma once

#include "rest/rest_routes.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct http_settings;

/// The means of the routes below /admin.
struct admin_pages {
    const http_settings& config;
    admin_sources from;
};
using admin_pages_ptr = std::shared_ptr<admin_pages>;

bool is_administrator(const http_request& request, const admin_pages& self);
admin_viewer viewer_of(const http_request& request, const admin_pages& self);

/// The server that an administrator names by `node`, or "*"; nothing: this one alone. Throws gateway_error.
std::optional<std::string> node_named_by(const http_request& request, const admin_pages& self);

/// The lists of this server for the caller of the request, which outlives the call. Each throws gateway_error.
namespace admin_lists {
using reader = awaitable<json::object> (*)(const http_request& request, admin_pages_ptr self);

awaitable<json::object> runs(const http_request& request, admin_pages_ptr self);
awaitable<json::object> sandboxes(const http_request& request, admin_pages_ptr self);
awaitable<json::object> sessions(const http_request& request, admin_pages_ptr self);
awaitable<json::object> jobs(const http_request& request, admin_pages_ptr self);
awaitable<json::object> usage(const http_request& request, admin_pages_ptr self);
awaitable<json::object> ends(const http_request& request, admin_pages_ptr self);
awaitable<json::object> egress(const http_request& request, admin_pages_ptr self);
awaitable<json::object> members(const http_request& request, admin_pages_ptr self);
awaitable<json::object> layers(const http_request& request, admin_pages_ptr self);
awaitable<json::object> records(const http_request& request, admin_pages_ptr self);
}  // namespace admin_lists

struct admin_list {
    admin_lists::reader read;
    std::string_view member;  ///< of the answer: its rows
    std::string_view order;   ///< as row_order::by, where rows come from several servers
};

/// The list of this server, or of those that the request names. Throws gateway_error.
awaitable<json::object> read_list(const http_request& request, admin_pages_ptr self, admin_list of);

}  // namespace cmcp
