#include "app/managers.hpp"
#include "app/optional_helpers.hpp"
#include "commands/commands.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "prebuilt/version.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/image_choice.hpp"
#include "server/access_token.hpp"
#include "server/diagnosis.hpp"
#include "server/run_loop.hpp"
#include "server/sandbox_start.hpp"
#include "text/url_origin.hpp"
#include "tools/tools.hpp"
#include "web/browser_process.hpp"
#include "web/web_browser.hpp"
#include "web/web_page_reader.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

namespace cmcp::command {

namespace {

constexpr int state_width = 13;  // "not asked for"

struct examined_sandbox {
    std::string backend;
    sandbox::layers layers;
};

awaitable<sandbox::layer> examine_browser(asio::any_io_executor executor, sandbox::backend& backend,
                                          const settings& config)
{
    using state = sandbox::layer::state;
    if (!config.enable_web) co_return sandbox::layer{"browser", state::not_asked, "TOOLS_ENABLE_WEB is off"};
    egress_guard guard(executor, std::make_shared<const egress_policy>(egress_policy::from_settings(config)));
    blocking_pool pool;
    run_admission admission({});
    web_page_reader reader(config, backend, admission, pool);
    web_browser browser(executor, config, backend, guard, reader, pool);
    sandbox::layer service{"browser", state::off, {}};
    try {
        co_await browser.warm_up();
        const auto now = browser.state();
        service.is = now.own_sandbox ? state::on : state::degraded;
        service.detail =
            now.version + ", no network but the egress guard, " +
            (now.own_sandbox ? "its own sandbox on" : "its own sandbox off (no user namespace may be made inside)");
        co_await browser.stop();
    } catch (const browser_unavailable& problem) {
        service.detail = problem.what();
    }
    co_return service;
}

sandbox::layer examine_images(const settings& config)
{
    using state = sandbox::layer::state;
    const auto images = image_store(config.sandbox_root / "images").list();
    try {
        image_choice(config).check({});
    } catch (const sandbox_error& missing) {
        return {"images", state::off, std::string("SANDBOX_DEFAULT_IMAGE: ") + missing.what()};
    }
    if (images.empty()) return {"images", state::not_asked, "none was added; sandboxes have this machine's programs"};
    std::uint64_t bytes = 0;
    for (const auto& each : images) bytes += each.of.bytes;
    return {"images", state::on,
            std::to_string(images.size()) + " in the store, " + std::to_string(bytes >> 20) + " MiB"};
}

// Whether they answer is seen when code calls them.
sandbox::layer examine_upstreams(const settings& config)
{
    using state = sandbox::layer::state;
    if (config.upstreams.empty()) return {"upstream", state::not_asked, "config.toml names no other MCP servers"};
    std::string names;
    for (const auto& each : config.upstreams) {
        if (!each.command.empty() && !config.enable_sandbox)
            return {"upstream", state::off, each.name + " has a command, which needs TOOLS_ENABLE_SANDBOX"};
        names += (names.empty() ? "" : ", ") + each.name + " (" +
                 (each.url.empty() ? each.command.front() : std::string(origin_of(each.url))) + ")";
    }
    return {"upstream", state::on, names};
}

awaitable<> examine(asio::any_io_executor executor, started_sandbox started, const settings& config,
                    examined_sandbox& into)
{
    sandbox::native_backend backend(executor, std::move(started.launcher), std::move(started.options));
    into.backend = backend.name();
    co_await backend.zygote_settles();
    into.layers = co_await backend.probe();
    auto helpers = examine_helpers(backend, config.python_interpreter);
    auto installed = co_await std::move(helpers);
    into.layers.push_back(std::move(installed));
    auto browser = co_await examine_browser(executor, backend, config);
    into.layers.push_back(std::move(browser));
    into.layers.push_back(examine_images(config));
    into.layers.push_back(examine_upstreams(config));
}

json::array findings_json(const std::vector<finding>& list)
{
    json::array all;
    for (const auto& each : list)
        all.push_back(
            json::object{{"layers", json::value_from(each.layers)}, {"cause", each.cause}, {"command", each.command}});
    return all;
}

void print_json(const examined_sandbox& examined, const diagnosis& about, const settings& config,
                const std::vector<std::string>& required, const std::vector<std::string>& missing)
{
    json::object report;
    report["version"] = CMCP_VERSION;
    report["backend"] = examined.backend;
    report["layers"] = layers_json(examined.layers);
    report["access"] = access_in_words(config);
    report["required"] = json::value_from(required);
    report["missing"] = json::value_from(missing);
    report["problems"] = findings_json(about.problems);
    report["remarks"] = findings_json(about.remarks);
    report["ok"] = missing.empty();
    std::cout << jsonrpc::write_json(report) << '\n';
}

// A cause that several layers share stands once, below the table.
void print_rows(const examined_sandbox& examined, const diagnosis& about)
{
    const auto shared = [&about](const sandbox::layer& layer) {
        for (const auto* list : {&about.problems, &about.remarks})
            for (const auto& each : *list)
                if (each.layers.size() > 1 && std::count(each.layers.begin(), each.layers.end(), layer.name) != 0)
                    return true;
        return false;
    };
    std::size_t width = 0;
    for (const auto& layer : examined.layers) width = std::max(width, layer.name.size());
    for (const auto& layer : examined.layers) {
        std::cout << std::setw(static_cast<int>(width)) << layer.name << "  " << std::setw(state_width)
                  << sandbox::to_string(layer.is) << "  " << (shared(layer) ? "see below" : layer.detail) << '\n';
    }
}

void print_findings(const char* title, const std::vector<finding>& list)
{
    if (list.empty()) return;
    std::cout << '\n' << title << '\n';
    for (const auto& each : list) {
        std::cout << "  " << each.layers.front();
        if (each.layers.size() > 1) std::cout << " and " << each.layers.size() - 1 << " more";
        std::cout << ": " << each.cause << '\n';
        if (!each.command.empty()) std::cout << "    " << each.command << '\n';
    }
}

void print_table(const examined_sandbox& examined, const diagnosis& about, const settings& config,
                 const std::vector<std::string>& missing)
{
    std::cout << "backend " << examined.backend << '\n' << "access " << access_in_words(config) << '\n' << std::left;
    print_rows(examined, about);
    print_findings("Problems, each with the command that mends it where there is one:", about.problems);
    print_findings("Remarks (it works without):", about.remarks);
    std::cout << '\n';
    if (missing.empty()) std::cout << "every layer that SANDBOX_REQUIRE names is there\n";
    for (const auto& name : missing) std::cout << "missing although SANDBOX_REQUIRE names it: " << name << '\n';
    std::cout << about.on << " of " << about.total << " layers on, " << about.problems.size()
              << (about.problems.size() == 1 ? " problem\n" : " problems\n");
}

}  // namespace

int doctor(const loaded_settings& loaded, bool json)
{
    log::set_threshold(log::level::error);  // the report has the rest
    started_sandbox started = start_sandbox(loaded.values);
    confine_this_process(started, loaded.values, nullptr);
    ignore_signals();
    examined_sandbox examined;
    asio::io_context io(1);
    run_loop(io, examine(io.get_executor(), std::move(started), loaded.values, examined));
    const auto required = required_layers(examined.layers, loaded.values);
    const auto missing = sandbox::missing(examined.layers, required);
    const diagnosis about = diagnose(examined.layers, required);
    if (json)
        print_json(examined, about, loaded.values, required, missing);
    else
        print_table(examined, about, loaded.values, missing);
    return missing.empty() ? 0 : 1;
}

}  // namespace cmcp::command
