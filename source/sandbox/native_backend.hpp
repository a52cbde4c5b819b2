#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/launcher_process.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp::sandbox {

/// The backend that needs nothing but the kernel: every run is started by the launcher process in namespaces of its own.
/// All members must be called on the io thread.
class native_backend final : public backend {
public:
    struct options {
        std::string launcher_path;   ///< absolute path of container-mcp-launcher
        launcher_options launcher;   ///< told to the launcher at every start
    };

    /// Starts a launcher. Throws std::system_error when it cannot be started.
    native_backend(asio::any_io_executor executor, options chosen);

    /// Takes over a launcher that was started before any thread existed; `chosen` is for starting another one after a crash.
    native_backend(asio::any_io_executor executor, launcher_process started, options chosen);

    native_backend(const native_backend&) = delete;
    native_backend& operator=(const native_backend&) = delete;
    ~native_backend() override;  ///< ends the launcher and with it every run; runs in flight end as setup_failed

    awaitable<run_result> run(run_request request, output_receiver& output) override;
    awaitable<layers> probe() override;
    std::string_view name() const override;

    /// The process id of the launcher in use, for supervision and tests; -1 while there is none.
    int launcher_pid() const;

    class link;

private:
    std::shared_ptr<link> link_;
    std::optional<layers> probed_;
};

}  // namespace cmcp::sandbox
