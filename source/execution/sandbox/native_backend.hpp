#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/launcher_process.hpp"
#include "wire/launcher_protocol.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// The backend whose runs are started by the launcher process, in namespaces of their own. It needs nothing but the
/// kernel; where its options say so, Firejail makes namespaces and mounts instead of it (name() is then
/// "firejail"). All members must be called on the io thread.
class native_backend final : public backend {
public:
    struct options {
        std::string launcher_path;                                         ///< absolute path of container-mcp-launcher
        launcher_options launcher;                                         ///< given to the launcher at every start
        layer zygote_layer{"python_zygote", layer::state::not_asked, {}};  ///< reported where there is none
        layer browser_layer{"browser_sandbox", layer::state::not_asked, {}};  ///< the same
        layers further{};  ///< layers of the server itself, added to those of probe()
    };

    /// Starts a launcher. Throws std::system_error when it cannot be started.
    native_backend(asio::any_io_executor executor, options settings);

    /// Takes over a launcher that was started before any thread existed; `settings` are for starting another one after
    /// a crash.
    native_backend(asio::any_io_executor executor, launcher_process started, options settings);

    native_backend(const native_backend&) = delete;
    native_backend& operator=(const native_backend&) = delete;
    ~native_backend() override;  ///< ends the launcher and with it every run; runs in flight end as lost

    awaitable<run_result> run(run_request request, output_receiver& output) override;
    awaitable<layers> probe() override;
    std::string_view name() const override;
    bool keeps_cells() const override { return has_processes_ && name() == "native"; }
    awaitable<std::vector<cell_state>> cells() override;
    awaitable<> end_cell(cell_name name) override;
    void hold_cells(bool on) override;
    awaitable<opened_socket> open_socket(cell_name cell, cell_socket kind) override;
    bool can_have_doors() const override { return keeps_cells(); }
    void on_full(room_maker maker) override { make_room_ = std::move(maker); }
    void on_doors(doors_handler handler) override;

    layer zygote_now() const;  ///< also the last layer that probe() returns

    /// Waits until the zygote is loaded or has failed; true: runs can be prepared.
    awaitable<bool> zygote_settles();

    /// The launcher's trouble, a sentence that says how to mend it; nothing: it runs. A launcher that is gone is
    /// started again.
    std::optional<std::string> launcher_trouble();

    /// The process id of the launcher in use, for supervision and tests; -1 while there is none.
    int launcher_pid() const;

    class link;

private:
    awaitable<layers> probe_kernel();
    awaitable<layer> probe_browser();
    awaitable<> probe_zygote();

    std::shared_ptr<link> link_;
    room_maker make_room_;
    std::optional<layers> probed_;
    bool has_processes_ = false;  ///< runs have a /proc of their own
    bool zygote_probed_ = false;
    std::string zygote_lacks_;  ///< layers that a cold run has and a zygote's has not
};

}  // namespace cmcp::sandbox
