#pragma once

#include "engine/engine_client.hpp"

#include <optional>
#include <string>

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

}  // namespace cmcp::engine
