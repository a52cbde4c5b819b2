#include "rest/admin_lists.hpp"

#include "administration/admin_sessions.hpp"
#include "text/number.hpp"

namespace cmcp {

bool is_administrator(const http_request& request, const admin_pages& self)
{
    const bool has_scope = request.who && request.who->scopes.covers(scope::admin);
    return has_scope && (!request.principal.empty() || self.from.admits_nameless);
}

admin_viewer viewer_of(const http_request& request, const admin_pages& self)
{
    return {request.principal, is_administrator(request, self)};
}

// A member passes on what its client has sent, and means this server.
std::optional<std::string> node_named_by(const http_request& request, const admin_pages& self)
{
    auto node = request.member ? std::nullopt : request.filled_parameter("node");
    if (node && !is_administrator(request, self))
        throw gateway_error(403, "Only an administrator may ask for a server: it needs the scope mcp:admin.");
    return node;
}

namespace {

// Throws gateway_error.
admin_page page_of(const http_request& request)
{
    constexpr std::size_t most = 1000;
    admin_page page;
    page.after = request.parameter("after").value_or("");
    page.match = request.parameter("match").value_or("");
    page.sort = request.parameter("sort").value_or("");
    if (!page.sort.empty() && page.sort != "used" && page.sort != "disk" && page.sort != "id")
        throw gateway_error(400, "sort must be id, used (the latest first) or disk (the largest first).",
                            "InvalidArgument");
    const auto limit = request.filled_parameter("limit");
    if (!limit) return page;
    const auto number = read_number<std::size_t>(*limit);
    if (!number || *number < 1 || *number > most)
        throw gateway_error(400, "limit must be a number from 1 to " + std::to_string(most) + ".", "InvalidArgument");
    page.limit = *number;
    return page;
}

row_order order_of(const http_request& request, const admin_list& of)
{
    row_order order{of.order};
    const bool is_page = of.member == "sandboxes";
    if (is_page || of.member == "records") order.most = page_of(request).limit;
    if (!is_page) return order;
    const auto sort = page_of(request).sort;
    order.by = sort == "used" ? "last_used" : sort == "disk" ? "disk_bytes" : "id";
    order.rising = order.by == "id";
    return order;
}

}  // namespace

namespace admin_lists {

awaitable<json::object> runs(const http_request& request, admin_pages_ptr self)
{
    return self->from.server.runs(viewer_of(request, *self));
}

awaitable<json::object> sandboxes(const http_request& request, admin_pages_ptr self)
{
    return self->from.server.sandboxes(viewer_of(request, *self), page_of(request));
}

awaitable<json::object> sessions(const http_request& request, admin_pages_ptr self)
{
    co_return sessions_of(self->from.sessions, viewer_of(request, *self));
}

awaitable<json::object> jobs(const http_request& request, admin_pages_ptr self)
{
    co_return self->from.server.jobs(viewer_of(request, *self));
}

awaitable<json::object> usage(const http_request& request, admin_pages_ptr self)
{
    return self->from.server.usage(viewer_of(request, *self), connections_of(self->from));
}

awaitable<json::object> ends(const http_request& request, admin_pages_ptr self)
{
    co_return self->from.server.ends(viewer_of(request, *self));
}

awaitable<json::object> members(const http_request&, admin_pages_ptr self)
{
    const auto* all = self->from.cluster;
    if (all != nullptr) co_return all->describe();
    co_return json::object{{"node", self->from.nodes.node}, {"members", json::array()}};
}

awaitable<json::object> egress(const http_request& request, admin_pages_ptr self)
{
    co_return self->from.server.egress(viewer_of(request, *self));
}

awaitable<json::object> layers(const http_request& request, admin_pages_ptr self)
{
    return self->from.server.layers(viewer_of(request, *self));
}

awaitable<json::object> records(const http_request& request, admin_pages_ptr self)
{
    const auto limit = page_of(request).limit;
    const auto kind = request.parameter("kind").value_or("");
    co_return self->from.server.audit(viewer_of(request, *self), limit, kind);
}

}  // namespace admin_lists

namespace {

awaitable<json::object> list_of_nodes(const http_request& request, admin_pages_ptr self, admin_list of,
                                      std::string node)
{
    const auto order = order_of(request, of);
    auto lists = co_await self->from.nodes.lists_of_others(request, node);
    if (self->from.nodes.includes_own(node)) {
        auto own = co_await of.read(request, self);
        lists.insert(lists.begin(), node_list{self->from.nodes.node, std::move(own)});
    }
    co_return one_list_of(std::move(lists), of.member, order);
}

}  // namespace

awaitable<json::object> read_list(const http_request& request, admin_pages_ptr self, admin_list of)
{
    const auto node = node_named_by(request, *self);
    json::object answer;
    if (node)
        answer = co_await list_of_nodes(request, self, of, *node);
    else
        answer = co_await of.read(request, self);
    co_return answer;
}

}  // namespace cmcp
