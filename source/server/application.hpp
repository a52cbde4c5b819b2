#pragma once

#include "app/managers.hpp"
#include "app/readiness.hpp"
#include "async/task_group.hpp"
#include "http/file_gateway.hpp"
#include "mcp/server_core.hpp"
#include "server/sandbox_start.hpp"
#include "telemetry/otlp_exporter.hpp"

#include <memory>

namespace cmcp::command {

/// Everything behind the transports: sandbox, managers, tools and the protocol. Lives in the main coroutine, so that
/// the io_context runs out of work when that ends.
class application {
public:
    /// `chosen` must outlive this.
    application(asio::any_io_executor executor, const settings& chosen, started_sandbox started);

    /// Probes the sandbox and offers the tools; throws config_error when a required layer is missing.
    awaitable<> prepare();

    /// Ends what runs by itself (jobs, the care for sandboxes); to be awaited before the destruction.
    awaitable<> stop();

    awaitable<> python_settles();  ///< until Python runs are fast, or it is known why they are not

    server_core& core() { return core_; }
    sandbox::layers layers() const;  ///< the zygote's as it is now, the others as they were found at the start
    file_gateway* files();           ///< null when sandboxes are not offered
    readiness& ready() { return ready_; }
    void set_public_url(std::string url);  ///< for links to files

private:
    const settings& chosen_;
    sandbox::native_backend backend_;
    std::unique_ptr<managers> managers_;
    server_core core_;
    readiness ready_;
    std::unique_ptr<otlp_exporter> spans_;  ///< none: nobody is told
    task_group tasks_;
    sandbox::layers layers_;
};

}  // namespace cmcp::command
