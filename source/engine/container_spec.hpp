#pragma once

#include "engine/container_user.hpp"
#include "engine/engine_client.hpp"
#include "engine/engine_options.hpp"
#include "engine/exchange_folder.hpp"
#include "jsonrpc/json.hpp"
#include "wire/run_request.hpp"

#include <string>
#include <vector>

namespace cmcp::engine {

namespace label {
inline constexpr const char* node = "container-mcp.node";
inline constexpr const char* root = "container-mcp.root";
inline constexpr const char* server = "container-mcp.server";
inline constexpr const char* sandbox = "container-mcp.sandbox";
}  // namespace label

/// Labels ("name=value") that all containers of this node and root have, and no others; those of one process have its
/// label::server besides.
std::vector<std::string> own_labels(const engine_options& options);

/// The body of POST /containers/create for a run: the image's root read-only, no network, no capability, no new
/// privileges, limits, an init, and the workspace as the only place that stays.
json::object container_spec(const sandbox::run_request& request, const engine_options& options,
                            const container_user& user, const image_facts& image, const exchange_folder& exchange);

}  // namespace cmcp::engine
