#pragma once

#include "http/file_gateway.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "jupyter/jupyter_api.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::jupyter {

inline http_reply json_reply(int status, std::string body)
{
    http_reply reply;
    reply.status = status;
    reply.body = std::move(body);
    return reply.with("Cache-Control", "no-store");
}

inline http_reply json_reply(int status, const json::value& body)
{
    return json_reply(status, jsonrpc::write_json(body));
}

inline http_reply nothing()
{
    http_reply reply;
    reply.status = 204;
    return reply;
}

[[noreturn]] inline void refuse_method() { throw gateway_error(405, "This path does not take the method."); }

/// A request of the API.
struct jupyter_api::call {
    http_request& request;
    caller who;
    std::vector<std::string> segments;  ///< of the path behind /api

    bool is(std::string_view method) const { return request.method == method; }
    bool reads() const { return is("GET") || is("HEAD"); }
    std::string segment(std::size_t at) const { return at < segments.size() ? segments[at] : std::string(); }
    json::object body() const { return jsonrpc::read_object(request.body); }
    http_reply read(const json::value& what) const
    {
        if (!reads()) refuse_method();
        return json_reply(200, what);
    }
};

}  // namespace cmcp::jupyter
