#pragma once

#include "http/http_refusal.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp::e2b {

inline http_reply json_reply(int status, const json::value& body)
{
    http_reply reply;
    reply.status = status;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

inline http_reply nothing()
{
    http_reply reply;
    reply.status = 204;
    return reply;
}

inline std::vector<std::string> texts_in(const json::object& from, std::string_view name)
{
    std::vector<std::string> all;
    if (const auto* list = from.if_contains(name); list != nullptr && list->is_array())
        for (const auto& each : list->get_array())
            if (each.is_string()) all.emplace_back(each.get_string());
    return all;
}

}  // namespace cmcp::e2b
