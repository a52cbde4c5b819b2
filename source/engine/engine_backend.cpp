#include "engine/engine_backend.hpp"

#include "async/with_deadline.hpp"
#include "engine/container_spec.hpp"
#include "engine/engine_options.hpp"
#include "engine/engine_run.hpp"
#include "log/log.hpp"
#include "sandbox/kept_output.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <system_error>

namespace cmcp::engine {
namespace {

constexpr auto time_to_probe = std::chrono::seconds(60);
constexpr auto between_looks = std::chrono::seconds(10);
constexpr auto between_attempts = std::chrono::seconds(2);
constexpr auto time_to_clean_up = std::chrono::seconds(20);

std::string_view program_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Podman takes a container's runtime from its own settings, whatever the request says, and tells nothing of it.
void check_runtime(const engine_facts& engine, const std::string& wanted)
{
    if (wanted.empty() || !engine.podman || program_name(wanted) == program_name(engine.runtime)) return;
    throw engine_error(0, "Podman uses the runtime " + engine.runtime + " for every container, not the " + wanted +
                              " of SANDBOX_ENGINE_RUNTIME; nothing was run. Set runtime = \"" + wanted +
                              "\" under [engine] in its containers.conf, and start its service again.");
}

}  // namespace

/// A run while it is under way. `arrived` is notified when the run is over.
struct engine_backend::flight {
    explicit flight(std::shared_ptr<engine_run> one) : run(std::move(one)) {}
    std::shared_ptr<engine_run> run;
    event arrived;
    bool over = false;
    sandbox::run_result result;
    std::exception_ptr failure;
};

engine_backend::engine_backend(asio::any_io_executor executor, engine_options options)
    : executor_(executor), chosen_(std::move(options)), client_(executor, chosen_.where), tasks_(executor)
{
}

engine_backend::~engine_backend() = default;

awaitable<engine_facts> engine_backend::facts()
{
    if (facts_) co_return *facts_;
    const auto facts = co_await client_.facts();
    check_runtime(facts, chosen_.runtime);
    facts_ = facts;
    co_return facts;
}

awaitable<image_facts> engine_backend::image(std::string name)
{
    const auto image = co_await client_.image(name);
    if (!image)
        throw engine_error(404, "The container engine at " + chosen_.where.socket + " has no image \"" + name +
                                    "\". Images are not fetched by themselves: have the operator run `podman pull " +
                                    name + "` (or `docker pull`), or ask for another image.");
    co_return *image;
}

awaitable<> engine_backend::check_image(std::string name)
{
    co_await facts();
    co_await image(std::move(name));
}

awaitable<sandbox::run_result> engine_backend::perform(std::shared_ptr<engine_run> one)
{
    const auto engine = co_await facts();
    auto look = co_await image(one->request().image);
    const bool limits = chosen_.required.find("limits") != std::string::npos;
    if (limits && !(engine.memory_limit && engine.process_limit))
        throw engine_error(0,
                           "The container engine cannot limit memory and processes here (no cgroup controllers), and "
                           "SANDBOX_REQUIRE names limits; nothing was run.");
    auto user = choose_user(engine, ::geteuid(), ::getegid());
    auto result = co_await one->perform(std::move(user), std::move(look));
    co_return result;
}

awaitable<> engine_backend::fly(std::shared_ptr<flight> one)
{
    try {
        one->result = co_await perform(one->run);
    } catch (const engine_error& refused) {
        one->result.error = refused.what();
    } catch (const boost::system::system_error&) {
        one->failure = std::current_exception();
    } catch (const std::system_error& failed) {
        one->result.error =
            std::string("The run could not be prepared for the container engine: ") + failed.what() + ".";
    } catch (...) {
        one->failure = std::current_exception();
    }
    tasks_.spawn("remove container", clean_up(one->run));
    one->over = true;
    one->arrived.notify();
}

awaitable<> engine_backend::clean_up(std::shared_ptr<engine_run> one)
{
    for (bool reported = false;; reported = true) {
        try {
            co_await one->clean_up();
            co_return;
        } catch (const engine_error& failed) {
            if (!reported) log::warning("container_left", {{"reason", failed.what()}});
        }
        // An engine that is away comes back with the containers that it had.
        if (!stopping_) co_await stop_.wait(event::clock::now() + between_attempts);
        if (stopping_) co_return;
    }
}

awaitable<sandbox::run_result> engine_backend::run(sandbox::run_request request, sandbox::output_receiver& output)
{
    sandbox::run_result refused;
    refused.error = "The run names no image.";
    if (request.image.empty()) co_return refused;
    // Cancellation is looked at by hand: the container must have ended before the exception leaves.
    co_await asio::this_coro::throw_if_cancelled(false);
    auto run = std::make_shared<engine_run>(executor_, client_, chosen_, pool_, std::move(request), output);
    const auto one = std::make_shared<flight>(std::move(run));
    tasks_.spawn("engine run", fly(one));
    bool cancelled = false;
    try {
        while (!one->over) co_await one->arrived.wait();
    } catch (const boost::system::system_error&) {
        cancelled = true;
    }
    if (cancelled) {
        one->run->end(sandbox::cause::cancelled);
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        while (!one->over) co_await one->arrived.wait();
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_await asio::this_coro::throw_if_cancelled(true);
    if (one->failure) std::rethrow_exception(one->failure);
    co_return std::move(one->result);
}

awaitable<> engine_backend::remove_leftovers()
{
    const auto containers = co_await client_.list(own_labels(chosen_));
    std::size_t count = 0;
    for (const auto& each : containers) {
        const auto server = each.labels.find(label::server);
        if (server != each.labels.end() && server->second == chosen_.server) continue;
        co_await client_.remove(each.id);
        ++count;
    }
    auto work = [folder = chosen_.root + "/engine", own = chosen_.server] { exchange_folder::clear(folder, own); };
    co_await pool_.run(blocking_pool::server, std::move(work));
    if (count != 0) log::info("container_leftovers_removed", {{"count", count}});
}

awaitable<> engine_backend::look_around(bool alone)
{
    const auto verdict = co_await probe();
    now_ = verdict.front();
    if (now_.is == sandbox::layer::state::on)
        log::info("container_engine", {{"found", now_.detail}});
    else
        log::warning("container_engine", {{"reason", now_.detail}});
    while (alone && !stopping_) {
        try {
            co_await remove_leftovers();
            co_return;
        } catch (const engine_error&) {
            // Said above already.
        }
        co_await stop_.wait(event::clock::now() + between_looks);
    }
}

void engine_backend::start(bool alone) { tasks_.spawn("look for the container engine", look_around(alone)); }

awaitable<> engine_backend::stop()
{
    stopping_ = true;
    stop_.notify();
    const bool idle = co_await tasks_.wait_idle(time_to_clean_up);
    if (!idle) log::warning("containers_left_at_the_end");
}

awaitable<sandbox::layer> engine_backend::try_engine()
{
    using state = sandbox::layer::state;
    const auto engine = co_await facts();
    sandbox::layer layer{"engine", state::on,
                         engine.name + " " + engine.version + " at " + chosen_.where.socket + ", runtime " +
                             (chosen_.runtime.empty() ? engine.runtime : chosen_.runtime) + ", cgroups v" +
                             engine.cgroup_version + (engine.rootless ? ", rootless" : "")};
    for (const auto& name : chosen_.images) {
        const auto there = co_await client_.image(name);
        if (!there) continue;
        sandbox::kept_output output;
        sandbox::run_request request;
        request.image = name;
        request.argv = {"/bin/sh", "-c", "echo up"};
        request.workspace_inside = "/tmp";
        request.limits.wall = std::chrono::seconds(30);
        const auto end = co_await run(std::move(request), output);
        const bool up = output.both() == "up\n";
        layer.is = up ? state::on : state::off;
        const bool limits = chosen_.required.find("limits") != std::string::npos;
        layer.detail += up ? "; a run of " + name + " has no network, no capabilities, no new privileges, and " +
                                 (limits ? "limits" : "limits where the engine sets them, which is not looked at")
                           : "; " + end.error + output.both();
        co_return layer;
    }
    layer.is = state::degraded;
    layer.detail += "; it has none of the images of SANDBOX_IMAGES, so no run could be tried";
    co_return layer;
}

awaitable<sandbox::layers> engine_backend::probe()
{
    sandbox::layer layer{"engine", sandbox::layer::state::off, {}};
    try {
        auto trying = try_engine();
        layer = co_await with_deadline(std::move(trying), time_to_probe);
    } catch (const deadline_exceeded&) {
        layer.detail =
            "The container engine at " + chosen_.where.socket + " takes too long to answer. " + chosen_.where.advice;
    } catch (const engine_error& failed) {
        layer.detail = failed.what();
    }
    co_return sandbox::layers{std::move(layer)};
}

awaitable<sandbox::run_result> image_router::run(sandbox::run_request request, sandbox::output_receiver& output)
{
    auto& backend = request.image.empty() ? native_ : engine_;
    return backend.run(std::move(request), output);
}

awaitable<sandbox::layers> image_router::probe()
{
    auto all = co_await native_.probe();
    auto more = co_await engine_.probe();
    all.insert(all.begin(), more.begin(), more.end());
    co_return all;
}

}  // namespace cmcp::engine
