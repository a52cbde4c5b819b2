#pragma once

#include "config/settings.hpp"
#include "http/router.hpp"
#include "mcp/server_core.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

class rest_sink;

/// POST /mcp/tools/<tool>: a JSON object of arguments in, the result object out. With `Accept: text/event-stream` what
/// the tool prints comes while it runs (rest_sink.hpp), then `event: result` with the result object. A bad argument or
/// a refusal is 4xx with {error, error_type}. Closing the connection cancels the call. Also GET /openapi.json and
/// /docs.
class rest_tools {
public:
    rest_tools(server_core& core, const settings& chosen) : core_(core), chosen_(chosen) {}

    void add_routes(router& routes);

private:
    struct outcome;

    awaitable<> call(exchange& x);
    awaitable<> describe(exchange& x);
    awaitable<> answer(exchange& x, std::shared_ptr<rest_sink> sink);
    awaitable<> stream(exchange& x, std::shared_ptr<rest_sink> sink);
    std::optional<http_reply> refuse(const std::string& name, http_request& asked, json::object& arguments) const;
    bool read_arguments(http_request& asked, json::object& into, std::string& problem) const;
    std::string check(const std::string& name, json::object& arguments) const;

    server_core& core_;
    const settings& chosen_;
};

}  // namespace cmcp
