#pragma once

#include "engine/engine_client.hpp"
#include "engine/exchange_folder.hpp"
#include "jsonrpc/json.hpp"
#include "wire/run_request.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cmcp::engine {

/// As whom a container's programs run, so that they and the server can both work on the workspace.
struct container_user {
    std::string name;            ///< "uid:gid" inside
    std::string user_namespace;  ///< HostConfig.UsernsMode; empty: the engine's own
    std::optional<uid_t>
        owner;  ///< the workspace's files are given to this id before a run; nothing: they fit as they are
};

/// As root the server lets containers have an id that nobody else has, and hands the files over. As another user it
/// lets them have its own id: inside of a rootless Podman that is the same number (keep-id), in another rootless engine
/// root.
container_user choose_user(const engine_facts& engine, uid_t uid, gid_t gid);

/// The command of a container: /bin/sh looks whether the layers that are `required` (words out of no_new_privs,
/// capabilities, seccomp, no_network, limits) are in force, and starts nothing when one is not (`lacks NAME`). It
/// starts the request's own program as its child with what containers have no way to be given (descriptors 3 and 4, a
/// channel) and afterwards writes down how it ended and what the container's cgroup counted, with `memory` the limit in
/// bytes that must be found there: `code N`, then lines of /sys/fs/cgroup files after their names
/// (container_output.hpp).
std::vector<std::string> container_command(const sandbox::run_request& request, const std::string& required,
                                           std::uint64_t memory);

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
