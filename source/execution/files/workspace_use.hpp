#pragma once

#include "async/asio.hpp"

#include <string>

namespace cmcp {

/// A workspace in use, from workspaces::enter() to the destruction of this. Io thread only.
class workspace_use {
public:
    workspace_use() = default;
    workspace_use(const workspace_use&) = delete;
    workspace_use& operator=(const workspace_use&) = delete;
    virtual ~workspace_use() = default;

    /// A sentence for the result of a run, where something is lost that the caller does not know of yet; else empty.
    virtual std::string take_note() = 0;

    /// Runs `work` so that it ends where this server may not use the workspace any more; throws why.
    virtual awaitable<bool> run(awaitable<bool> work) = 0;
};

}  // namespace cmcp
