#include "http/router.hpp"

#include "log/log.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp {

namespace {

// A slash at the end names the same thing.
std::string_view without_last_slash(std::string_view path)
{
    return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
}

}  // namespace

bool router::route::fits(std::string_view asked) const
{
    const std::string_view own = path;
    if (!own.ends_with("/*")) return own == without_last_slash(asked);
    const auto folder = own.substr(0, own.size() - 1);
    return asked.size() > folder.size() && asked.starts_with(folder);
}

void router::add(std::string method, std::string path, handler serve, bool streams)
{
    routes_.push_back(route{std::move(method), std::move(path), std::move(serve), streams});
}

void router::add_page(std::string path, handler serve)
{
    for (const char* method : {"GET", "HEAD"}) routes_.push_back(route{method, path, serve, false, true});
}

bool router::streams(const http_request& asked) const
{
    const auto* found = find(asked);
    return found != nullptr && found->streams;
}

const router::route* router::find(const http_request& asked) const
{
    for (const auto& each : routes_)
        if (each.method == asked.method && each.fits(asked.path) && (!each.is_page || takes_html(asked))) return &each;
    return nullptr;
}

std::optional<http_reply> router::refuse(const http_request& asked) const
{
    if (find(asked) != nullptr) return std::nullopt;
    std::string allowed;
    for (const auto& each : routes_)
        if (!each.is_page && each.fits(asked.path)) allowed += (allowed.empty() ? "" : ", ") + each.method;
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
    const auto* found = find(x.request());
    if (found == nullptr) co_return;
    std::string failure;
    try {
        co_await found->serve(x);
        co_return;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;
        failure = e.what();
    } catch (const std::exception& e) {
        failure = e.what();
    }
    log::error("route_failed", {{"request", x.request().id}, {"path", found->path}, {"error", failure}});
    x.close_after();
    if (x.status() != 0) co_return;
    auto answer = error_reply(500, "The server failed to answer this request (request " + x.request().id +
                                       "; the server's log has the reason).");
    co_await x.reply(std::move(answer));
}

}  // namespace cmcp
