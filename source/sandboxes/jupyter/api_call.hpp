#pragma once

#include "http/http_refusal.hpp"
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
    reply.with("Cache-Control", "no-store");
    return reply;  // not what with() returns, of which the body would be copied
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

[[noreturn]] inline void refuse_method() { throw http_refusal(405, "This path does not take the method."); }

/// A request of the API.
struct jupyter_api::call {
    http_request& request;
    caller who;
    std::vector<std::string> segments;  ///< of the path behind /api

    bool is(std::string_view method) const { return request.method == method; }
    bool reads() const { return is("GET") || is("HEAD"); }
    std::string segment(std::size_t at) const { return at < segments.size() ? segments[at] : std::string(); }
    json::object body() const
    {
        constexpr std::size_t longest = 64 * 1024;  // a wish; contents come by PUT
        if (request.body.size() <= longest) return jsonrpc::read_object(request.body);
        throw http_refusal(413, "The body has " + std::to_string(request.body.size()) +
                                    " bytes; this request takes at most " + std::to_string(longest) + ".");
    }
    http_reply read(const json::value& what) const
    {
        if (!reads()) refuse_method();
        return json_reply(200, what);
    }
};

}  // namespace cmcp::jupyter
