#include "http/router.hpp"

#include "log/log.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace cmcp {

namespace {

// A slash at the end names the same thing.
std::string_view without_last_slash(std::string_view path)
{
    return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
}

}  // namespace

bool route::fits(std::string_view wanted) const
{
    const std::string_view own = path;
    if (!own.ends_with("/*")) return own == without_last_slash(wanted);
    const auto folder = own.substr(0, own.size() - 1);
    return wanted.size() > folder.size() && wanted.starts_with(folder);
}

const route* router::owner_of(const http_request& request) const
{
    const auto owns = [&](std::size_t at) { return routes_[at].claims(request); };
    const auto owner = std::ranges::find_if(owners_, owns);
    return owner == owners_.end() ? nullptr : &routes_[*owner];
}

void router::place(http_request& request) const
{
    request.target = owner_of(request);
    request.rpc_errors = request.target == nullptr;
    if (request.target != nullptr) return;
    bool known = false;
    request.rpc_errors = true;  // a client of MCP may have the wrong address
    for (const auto& each : routes_) {
        if (!each.fits(request.path)) continue;
        request.rpc_errors = (known && request.rpc_errors) || each.rpc_errors;
        known = true;
        const bool has_method = each.methods.empty() || std::find(each.methods.begin(), each.methods.end(),
                                                                  request.method) != each.methods.end();
        if (!has_method || (each.html_only && !takes_html(request))) continue;
        request.target = &each;
        return;
    }
}

std::optional<http_reply> router::refuse(const http_request& request) const
{
    if (request.target != nullptr) return std::nullopt;
    std::string allowed;
    for (const auto& each : routes_)
        if (!each.html_only && each.fits(request.path))
            for (const auto method : each.methods) allowed.append(allowed.empty() ? "" : ", ").append(method);
    if (!allowed.empty()) return method_not_allowed(allowed);
    return error_reply(404,
                       "There is nothing here; MCP is served at /mcp (Streamable HTTP) and /sse (HTTP+SSE), REST is "
                       "described at /docs.");
}

std::string_view router::known_path(std::string_view path) const
{
    for (const auto& each : routes_)
        if (each.path == without_last_slash(path)) return each.path;
    return "other";
}

awaitable<> router::serve(exchange& x) const
{
    const auto* target = x.request().target;
    if (target == nullptr) co_return;
    std::string failure;
    try {
        co_await target->serve(x);
        co_return;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;
        failure = e.what();
    } catch (const std::exception& e) {
        failure = e.what();
    }
    log::error("route_failed", {{"request", x.request().id}, {"path", target->path}, {"error", failure}});
    x.close_after();
    if (x.status() != 0) co_return;
    auto answer = error_reply(500, "The server failed to answer this request (request " + x.request().id +
                                       "; the server's log has the reason).");
    co_await x.reply(std::move(answer));
}

}  // namespace cmcp
