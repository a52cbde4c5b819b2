#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "engine/engine_client.hpp"
#include "engine/engine_options.hpp"
#include "sandbox/backend.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp::engine {

class engine_run;

/// Runs programs in containers of Podman or Docker, by the Engine API on its Unix socket. The workspace is the
/// sandbox's own folder, mounted into each container: so the file tools, uploads, links, snapshots and quotas work on
/// it as they do with the native backend, and no bytes are copied in and out. Requests without an image are refused. Io
/// thread only.
class engine_backend final : public sandbox::backend {
public:
    engine_backend(asio::any_io_executor executor, engine_options options);
    engine_backend(const engine_backend&) = delete;
    engine_backend& operator=(const engine_backend&) = delete;
    ~engine_backend() override;

    awaitable<sandbox::run_result> run(sandbox::run_request request, sandbox::output_receiver& output) override;

    /// The layer `engine`, by a question to the engine and, where an image is there, by a run.
    awaitable<sandbox::layers> probe() override;
    std::string_view name() const override { return "engine"; }

    /// Throws engine_error, with a sentence that says what to do, when the engine is not there or has no such image.
    awaitable<> check_image(std::string image);

    /// Probes the engine in the background; `alone`: removes what servers of this node and root that are gone have
    /// left, as soon as the engine answers. To be called once.
    void start(bool alone);

    /// The layer as start() has seen it; until then a layer that is being looked for.
    const sandbox::layer& now() const { return now_; }

    /// Removes the containers and folders of this node and root that are not this process's own. Throws engine_error.
    awaitable<> remove_leftovers();

    awaitable<> stop();  ///< waits for containers that are being removed

private:
    struct flight;

    awaitable<> fly(std::shared_ptr<flight> one);
    awaitable<sandbox::run_result> perform(std::shared_ptr<engine_run> one);
    awaitable<> clean_up(std::shared_ptr<engine_run> one);
    awaitable<> look_around(bool alone);
    awaitable<engine_facts> facts();
    awaitable<image_facts> image(std::string name);
    awaitable<sandbox::layer> try_engine();

    asio::any_io_executor executor_;
    engine_options chosen_;
    engine_client client_;
    std::optional<engine_facts> facts_;
    blocking_pool pool_;
    sandbox::layer now_{"engine", sandbox::layer::state::degraded, "still being looked for"};
    bool stopping_ = false;
    event stop_;
    task_group tasks_;
};

/// Sends runs that name an image to the engine and all others to the native backend; neither ever stands in for the
/// other. Both must outlive this.
class image_router final : public sandbox::backend {
public:
    image_router(sandbox::backend& native, sandbox::backend& engine) : native_(native), engine_(engine) {}

    awaitable<sandbox::run_result> run(sandbox::run_request request, sandbox::output_receiver& output) override;
    awaitable<sandbox::layers> probe() override;  ///< of both
    std::string_view name() const override { return native_.name(); }
    bool keeps_cells() const override { return native_.keeps_cells(); }
    awaitable<std::vector<sandbox::cell_state>> cells() override { return native_.cells(); }
    awaitable<> end_cell(sandbox::cell_name name) override { return native_.end_cell(std::move(name)); }

private:
    sandbox::backend& native_;
    sandbox::backend& engine_;
};

}  // namespace cmcp::engine
