#pragma once

#include "command/sandbox_start.hpp"
#include "managers/managers.hpp"
#include "mcp/server_core.hpp"

#include <memory>

namespace cmcp::command {

/// Everything behind the transports: sandbox, managers, tools and the protocol. Lives in the main coroutine, so that the
/// io_context runs out of work when that ends.
class application {
public:
    /// `chosen` must outlive this.
    application(asio::any_io_executor executor, const settings& chosen, started_sandbox started);

    /// Probes the sandbox and offers the tools; throws config_error when a required layer is missing.
    awaitable<> prepare();

    server_core& core() { return core_; }
    sandbox::layers layers() const;   ///< the zygote's as it is now, the others as they were found at the start

private:
    const settings& chosen_;
    sandbox::native_backend backend_;
    std::unique_ptr<managers> managers_;
    server_core core_;
    sandbox::layers layers_;
};

}  // namespace cmcp::command
