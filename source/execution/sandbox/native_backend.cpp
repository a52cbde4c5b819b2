#include "sandbox/native_backend.hpp"

#include "jsonrpc/read_object.hpp"
#include "probe/probe.hpp"
#include "sandbox/launcher_link.hpp"
#include "sandbox/output_head.hpp"
#include "sandbox/run_in_flight.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

namespace cmcp::sandbox {
namespace {

using link_ptr = std::shared_ptr<native_backend::link>;

awaitable<std::exception_ptr> watch_streams(std::shared_ptr<run_in_flight> flight)
{
    const auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, flight->pump_output(stream::out), asio::deferred),
        asio::co_spawn(executor, flight->pump_output(stream::err), asio::deferred),
        asio::co_spawn(executor, flight->collect_result(), asio::deferred),
        asio::co_spawn(executor, flight->wait_for_end(), asio::deferred));
    auto [order, out, err, result, ended] =
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (const auto& failure : {out, err, result, ended})
        if (failure) co_return failure;
    co_return nullptr;
}

// Nothing, with the reason in `error`, when the run cannot be handed to the launcher.
std::shared_ptr<run_in_flight> begin(const link_ptr& link, const run_request& request, output_receiver& output,
                                     bool probe, std::string& error)
try {
    link->start_if_gone();
    auto flight = std::make_shared<run_in_flight>(link, request, output, probe);
    if (link->pid() > 0) return flight;
    // The launcher was found dead while the request was handed over: nothing can have run, so once more is safe.
    link->start_if_gone();
    return std::make_shared<run_in_flight>(link, request, output, probe);
} catch (const std::system_error& failure) {
    error = std::string("The run could not be handed to the sandbox launcher: ") + failure.what() +
            ". Check that container-mcp-launcher is installed and that the server has free descriptors and memory.";
    return nullptr;
}

awaitable<run_result> run_to_end(link_ptr link, std::shared_ptr<const run_request> request, output_receiver& output,
                                 bool probe)
{
    // Cancellation is looked at by hand: the process tree must be gone before the exception leaves.
    co_await asio::this_coro::throw_if_cancelled(false);
    run_result refused;
    const auto flight = begin(link, *request, output, probe, refused.error);
    if (!flight) co_return refused;
    const std::exception_ptr failure = co_await watch_streams(flight);
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (cancelled || failure) {
        flight->kill(cause::cancelled);
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await flight->wait_for_end();
    }
    if (cancelled) throw boost::system::system_error(asio::error::operation_aborted);
    if (failure) std::rethrow_exception(failure);
    co_return flight->take_result();
}

awaitable<run_result> run_once(link_ptr link, run_request request, output_receiver& output, bool probe)
{
    auto shared = std::make_shared<const run_request>(std::move(request));
    return run_to_end(std::move(link), std::move(shared), output, probe);
}

/// A request to the launcher, forgotten with the object.
class launcher_request {
public:
    explicit launcher_request(link_ptr link)
        : link_(std::move(link)), id_(link_->next_id()), answer_(link_->expect(id_))
    {
    }
    launcher_request(const launcher_request&) = delete;
    launcher_request& operator=(const launcher_request&) = delete;
    ~launcher_request() { link_->forget(id_); }
    std::uint64_t id() const { return id_; }

    /// The launcher's answer to this message: cells; none where the launcher ends.
    awaitable<std::vector<cell_state>> ask(std::string message)
    {
        link_->send(std::move(message));
        while (!answer_->cells && !answer_->result) co_await answer_->arrived.wait();
        co_return std::move(answer_->cells).value_or(std::vector<cell_state>());
    }

    /// The same for a socket, waited for at most until then.
    awaitable<opened_socket> ask_socket(std::string message, event::clock::time_point until)
    {
        bool in_time = true;
        link_->send(std::move(message));
        while (in_time && !answer_->socket && !answer_->result) in_time = co_await answer_->arrived.wait(until);
        if (answer_->socket) co_return std::move(*answer_->socket);
        const std::string silent = "The sandbox's processes do not answer.";
        co_return opened_socket{{}, answer_->result ? answer_->result->error : silent};
    }

private:
    link_ptr link_;
    std::uint64_t id_;
    std::shared_ptr<pending_run> answer_;
};

run_request probe_request()
{
    run_request request;
    request.argv = {"/usr/bin/true"};
    request.result_channel = true;
    request.limits.wall = std::chrono::seconds(10);
    request.limits.processes = probe_processes;
    request.label = "probe";
    return request;
}

run_request browser_trial()
{
    run_request request;
    request.argv = {"browser"};
    request.script.emplace();
    request.browser.ports = 1;
    request.browser.trial = true;
    request.label = "browser trial";
    return request;
}

std::string describe_zygote(const json::object& about)
{
    std::string text = "Python " + json::value_to<std::string>(about.at("python")) + ", profile " +
                       json::value_to<std::string>(about.at("profile")) + ", " + json::serialize(about.at("modules")) +
                       " modules loaded";
    std::string missing;
    for (const auto& name : about.at("missing").as_array())
        missing += (missing.empty() ? "; not installed: " : ", ") + json::value_to<std::string>(name);
    return text + missing;
}

layer zygote_layer(const native_backend::options& options, const json::object& said)
{
    layer zygote = options.zygote_layer;
    if (!options.launcher.zygote) return zygote;
    const json::value* state = said.if_contains("state");
    const std::string detail = said.contains("detail") ? json::value_to<std::string>(said.at("detail")) : std::string();
    if (state && *state == "on") {
        zygote.is = layer::state::on;
        zygote.detail = describe_zygote(jsonrpc::read_object(detail));
    } else if (state && *state == "off") {
        zygote.is = layer::state::off;
        zygote.detail = detail + "; Python runs start cold, in the same sandbox";
    } else {
        zygote.is = layer::state::degraded;
        zygote.detail = "still loading; Python runs start cold until then, in the same sandbox";
    }
    return zygote;
}

std::string worse_layers(const layers& judged, const layers& expected)
{
    std::string names;
    for (std::size_t i = 0; i < judged.size() && i < expected.size(); ++i)
        if (judged[i].is != expected[i].is && expected[i].is != layer::state::off)
            names += (names.empty() ? "" : ", ") + judged[i].name;
    return names;
}

layers explain_missing(layers judged, const std::string& error)
{
    for (auto& each : judged)
        if (each.is == layer::state::off && !error.empty()) each.detail = error;
    return judged;
}

}  // namespace

native_backend::native_backend(asio::any_io_executor executor, options settings)
    : link_(std::make_shared<link>(std::move(executor), std::move(settings)))
{
    link_->start_if_gone();
}

native_backend::native_backend(asio::any_io_executor executor, launcher_process started, options settings)
    : link_(std::make_shared<link>(std::move(executor), std::move(settings)))
{
    link_->adopt(std::move(started));
}

native_backend::~native_backend() { link_->shut_down(); }

awaitable<run_result> native_backend::run(run_request request, output_receiver& output)
{
    constexpr int most_tries = 16;  // others may be quicker to take the room
    request.prepared = request.prepared && zygote_lacks_.empty();
    const auto wanted = std::make_shared<const run_request>(std::move(request));
    for (int tries = 1;; ++tries) {
        auto result = co_await run_to_end(link_, wanted, output, false);
        if (!result.no_room || !make_room_ || tries == most_tries) co_return result;
        const auto maker = make_room_;
        cell_name cell{wanted->principal, wanted->cell};
        const bool has_room = co_await maker(std::move(cell));
        if (!has_room) co_return result;
    }
}

awaitable<std::vector<cell_state>> native_backend::cells()
{
    if (link_->pid() < 0) co_return std::vector<cell_state>();
    launcher_request all_cells(link_);
    std::string asks = encode_list_cells(all_cells.id());
    auto live = co_await all_cells.ask(std::move(asks));
    co_return live;
}

awaitable<> native_backend::end_cell(cell_name name)
{
    if (link_->pid() < 0) co_return;
    launcher_request end(link_);
    std::string order = encode_end_cell({end.id(), std::move(name)});
    co_await end.ask(std::move(order));
}

void native_backend::hold_cells(bool on)
{
    if (link_->pid() >= 0) link_->send(encode_hold_cells(on));
}

awaitable<opened_socket> native_backend::open_socket(cell_name cell, cell_socket kind)
{
    constexpr std::chrono::seconds patience{5};
    if (link_->pid() < 0) co_return opened_socket{{}, "Nothing runs in the sandbox."};
    launcher_request socket(link_);
    std::string asks = encode_open_socket({socket.id(), std::move(cell), kind});
    auto opened = co_await socket.ask_socket(std::move(asks), event::clock::now() + patience);
    co_return opened;
}

void native_backend::on_doors(doors_handler handler) { link_->serve_doors(std::move(handler)); }

awaitable<bool> native_backend::zygote_settles()
{
    if (!link_->settings().launcher.zygote) co_return false;
    link_->start_if_gone();
    for (;;) {
        const json::object state = jsonrpc::read_object(link_->zygote_state());
        if (state.contains("state") && state.at("state") != "starting") co_return state.at("state") == "on";
        co_await link_->wait_for_packet();
        link_->start_if_gone();
    }
}

awaitable<layers> native_backend::probe()
{
    layers all = co_await probe_kernel();
    co_await probe_zygote();
    all.push_back(zygote_now());
    co_return all;
}

// The first run that a zygote makes shows what its runs can do; a zygote whose runs can do more is not used again.
awaitable<> native_backend::probe_zygote()
{
    if (zygote_probed_ || !probed_ || zygote_now().is != layer::state::on) co_return;
    output_head nothing;
    const zygote_options& loaded = *link_->settings().launcher.zygote;
    run_request request = probe_request();
    request.argv = loaded.argv;
    request.environment = loaded.environment;
    request.prepared = true;
    const run_result result = co_await run_once(link_, std::move(request), nothing, true);
    const json::object inside = jsonrpc::read_object(result.result);
    if (inside.empty() || !result.prepared) co_return;
    const json::object outside = jsonrpc::read_object(link_->facts());
    zygote_lacks_ = worse_layers(evaluate_probe(inside, outside), *probed_);
    zygote_probed_ = true;
}

layer native_backend::zygote_now() const
{
    layer zygote = zygote_layer(link_->settings(), jsonrpc::read_object(link_->zygote_state()));
    if (zygote_probed_ && zygote.is == layer::state::on) zygote.detail += "; its runs have the layers of a cold run";
    if (zygote_lacks_.empty()) return zygote;
    zygote.is = layer::state::off;
    zygote.detail = "its runs lack " + zygote_lacks_ + "; Python runs start cold";
    return zygote;
}

awaitable<layers> native_backend::probe_kernel()
{
    if (probed_) co_return *probed_;
    output_head nothing;
    run_request request = probe_request();
    const run_result result = co_await run_once(link_, std::move(request), nothing, true);
    const json::object inside = jsonrpc::read_object(result.result);
    const json::object outside = jsonrpc::read_object(link_->facts());
    layers judged = evaluate_probe(inside, outside);
    if (inside.empty()) judged = explain_missing(std::move(judged), result.error);
    const layers& further = link_->settings().further;
    judged.insert(judged.end(), further.begin(), further.end());
    auto browser = co_await probe_browser();
    judged.push_back(std::move(browser));
    if (inside.empty()) co_return judged;
    has_processes_ = flag_of(object_of(inside, "proc"), "there");
    probed_ = std::move(judged);
    co_return *probed_;
}

awaitable<layer> native_backend::probe_browser()
{
    layer own_sandbox = link_->settings().browser_layer;
    if (link_->settings().launcher.browser.path.empty()) co_return own_sandbox;
    output_head nothing;
    const run_result result = co_await run_once(link_, browser_trial(), nothing, false);
    const bool works = result.why == cause::exited && result.exit_code == 0;
    own_sandbox.is = works ? layer::state::on : layer::state::off;
    own_sandbox.detail =
        works ? "Chromium can make its own sandbox inside of the server's, which filters its calls" : result.error;
    co_return own_sandbox;
}

std::string_view native_backend::name() const
{
    return link_->settings().launcher.firejail.empty() ? "native" : "firejail";
}

std::optional<std::string> native_backend::launcher_trouble()
try {
    constexpr std::size_t restart_loop = 3;
    link_->start_if_gone();
    const auto ends = link_->losses_lately();
    if (ends < restart_loop) return std::nullopt;
    return "The sandbox launcher has ended " + std::to_string(ends) +
           " times within a minute: the lines launcher_lost of the log say how; see whether memory runs out or "
           "something kills it.";
} catch (const std::system_error& failure) {
    return std::string("The sandbox launcher cannot be started (") + failure.what() +
           "): check that container-mcp-launcher is installed and that the server has free descriptors and memory.";
}

int native_backend::launcher_pid() const { return link_->pid(); }

}  // namespace cmcp::sandbox
