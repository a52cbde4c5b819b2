#include "rest/admin_routes.hpp"

#include "administration/admin_change.hpp"
#include "http/http_refusal.hpp"
#include "text/number.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

bool is_administrator(const http_request& request, const admin_pages& self)
{
    const bool has_scope = request.who && request.who->scopes.covers(scope::admin);
    return has_scope && (!request.principal.empty() || self.admits_nameless);
}

// The server that an administrator names, or "*"; nothing: this one alone. A member passes on what its client has sent,
// and means this server.
std::optional<std::string> node_named_by(const http_request& request, const admin_pages& self)
{
    auto node = request.member ? std::nullopt : request.filled_parameter("node");
    if (node && !is_administrator(request, self))
        throw http_refusal(403, "Only an administrator may ask for a server: it needs the scope mcp:admin.");
    return node;
}

row_order order_of(const http_request& request, const admin_route& of)
{
    row_order order{of.order};
    const bool is_page = of.member == std::string_view("sandboxes");
    if (is_page || of.member == std::string_view("records")) order.most = page_of(request).limit;
    if (!is_page) return order;
    const auto sort = page_of(request).sort;
    order.by = sort == "used" ? "last_used" : sort == "disk" ? "disk_bytes" : "id";
    order.rising = order.by == "id";
    return order;
}

awaitable<json::object> list_of_nodes(const http_request& request, admin_pages_ptr self, const admin_route& of,
                                      std::string node)
{
    const auto order = order_of(request, of);
    auto lists = co_await self->nodes.lists_of_others(request, node);
    if (self->nodes.includes_own(node)) {
        auto own = co_await of.read(request, self);
        lists.insert(lists.begin(), node_list{self->nodes.node, std::move(own)});
    }
    co_return one_list_of(std::move(lists), of.member, order);
}

awaitable<http_reply> reply_of_list(const http_request& request, admin_pages_ptr self, const admin_route& of)
{
    auto node = node_named_by(request, *self);
    json::object answer;
    if (node)
        answer = co_await list_of_nodes(request, self, of, std::move(*node));
    else
        answer = co_await of.read(request, self);
    if (!of.columns.empty()) answer["columns"] = of.columns;
    co_return uncached_reply(answer);
}

// A caller without a name may have the scope and be no administrator.
void refuse_others(const http_request& request, const admin_pages& self, const admin_route& of)
{
    if (of.needs.covers(scope::admin) && !is_administrator(request, self))
        throw http_refusal(403, "Only an administrator may do this: it needs the scope mcp:admin.");
}

// Nothing: the change is for this server.
awaitable<std::optional<http_reply>> reply_of_other(const http_request& request, admin_pages_ptr self)
{
    const auto node = node_named_by(request, *self);
    std::optional<http_reply> reply;
    if (node && *node != self->nodes.node) reply = co_await self->nodes.change_at(request, *node);
    co_return reply;
}

awaitable<> serve_route(exchange& x, admin_pages_ptr self, std::shared_ptr<const admin_route> of)
{
    std::optional<http_reply> reply;
    try {
        refuse_others(x.request(), *self, *of);
        if (of->read)
            reply = co_await reply_of_list(x.request(), self, *of);
        else if (x.request().method != "GET")
            reply = co_await reply_of_other(x.request(), self);
        if (!reply) co_return co_await of->serve(x, self);
    } catch (const http_refusal& problem) {
        reply = problem.reply();
    }
    co_await x.reply(std::move(*reply));
}

route_operation describe(const admin_route& of)
{
    auto operation = admin_operation(of.path, of.id, of.summary, of.member, {});
    operation.description = "Callers see what belongs to them, administrators (mcp:admin) everything.";
    operation.parameters.insert(operation.parameters.end(), of.parameters.begin(), of.parameters.end());
    if (*of.member == '\0')
        operation.gives = {{"text/event-stream", {{"type", "string"}}}};
    else
        operation.parameters.push_back(query_parameter_of(
            "node", "A server of the cluster, for lists also *: all of them. For administrators", "string"));
    return operation;
}

}  // namespace

admin_viewer viewer_of(const http_request& request, const admin_pages& self)
{
    return {request.principal, is_administrator(request, self)};
}

admin_page page_of(const http_request& request)
{
    constexpr std::size_t most = 1000;
    admin_page page;
    page.after = request.parameter("after").value_or("");
    page.match = request.parameter("match").value_or("");
    page.sort = request.parameter("sort").value_or("");
    if (!page.sort.empty() && page.sort != "used" && page.sort != "disk" && page.sort != "id")
        throw http_refusal(400, "sort must be id, used (the latest first) or disk (the largest first).",
                           "InvalidArgument");
    const auto limit = request.filled_parameter("limit");
    if (!limit) return page;
    const auto number = read_number<std::size_t>(*limit);
    if (!number || *number < 1 || *number > most)
        throw http_refusal(400, "limit must be a number from 1 to " + std::to_string(most) + ".", "InvalidArgument");
    page.limit = *number;
    return page;
}

json::array columns_of(std::initializer_list<admin_column> all)
{
    json::array columns;
    for (const auto& each : all) {
        json::object column{{"name", each.name}, {"kind", each.kind}, {"title", each.title}};
        if (!each.of.empty()) column["of"] = each.of;
        columns.push_back(std::move(column));
    }
    return columns;
}

json::object query_parameter_of(std::string_view name, std::string_view description, std::string_view type)
{
    return {{"name", name}, {"in", "query"}, {"description", description}, {"schema", {{"type", type}}}};
}

void add_admin_route(router& routes, admin_pages_ptr self, admin_route added)
{
    const auto shared = std::make_shared<const admin_route>(std::move(added));
    routes.add({.methods = {shared->method},
                .path = shared->path,
                .serve = [self = std::move(self), shared](exchange& x) { return serve_route(x, self, shared); },
                .needs = shared->needs,
                .body = route_body::optional_json,
                .audit = route_audit::changes,
                .by_browser = true,
                .operations = [shared](const http_request&) { return std::vector{describe(*shared)}; }});
}

}  // namespace cmcp
