#include "command/commands.hpp"
#include "command/run_loop.hpp"
#include "command/sandbox_start.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace cmcp::command {

namespace {

constexpr int state_width = 13;     // "not asked for"

struct findings {
    std::string backend;
    sandbox::layers layers;
};

awaitable<> examine(asio::any_io_executor executor, started_sandbox started, findings& into)
{
    sandbox::native_backend backend(executor, std::move(started.launcher), std::move(started.chosen));
    into.backend = backend.name();
    into.layers = co_await backend.probe();
}

void print_json(const findings& found, const std::vector<std::string>& required, const std::vector<std::string>& missing)
{
    json::object report;
    report["version"] = CMCP_VERSION;
    report["backend"] = found.backend;
    report["layers"] = layers_json(found.layers);
    report["required"] = json::value_from(required);
    report["missing"] = json::value_from(missing);
    report["ok"] = missing.empty();
    std::cout << jsonrpc::write_json(report) << '\n';
}

void print_table(const findings& found, const std::vector<std::string>& missing)
{
    std::size_t width = 0;
    for (const auto& layer : found.layers) width = std::max(width, layer.name.size());
    std::cout << "backend " << found.backend << '\n' << std::left;
    for (const auto& layer : found.layers) {
        std::cout << std::setw(static_cast<int>(width)) << layer.name << "  " << std::setw(state_width) << sandbox::to_string(layer.is) << "  "
                  << layer.detail << '\n';
    }
    if (missing.empty()) std::cout << "every layer that SANDBOX_REQUIRE names is there\n";
    for (const auto& name : missing) std::cout << "missing although SANDBOX_REQUIRE names it: " << name << '\n';
}

}  // namespace

int doctor(const loaded_settings& loaded, bool json)
{
    started_sandbox started = start_sandbox(loaded.values);
    ignore_signals();
    findings found;
    asio::io_context io(1);
    run_loop(io, examine(io.get_executor(), std::move(started), found));
    const auto& required = loaded.values.sandbox_require;
    const auto missing = sandbox::missing(found.layers, required);
    if (json) print_json(found, required, missing);
    else print_table(found, missing);
    return missing.empty() ? 0 : 1;
}

}  // namespace cmcp::command
