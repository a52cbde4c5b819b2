#include "app/admin_rows.hpp"
#include "app/administration.hpp"
#include "http/http_refusal.hpp"

#include <algorithm>
#include <chrono>

// The part of administration that lists and ends what runs.
namespace cmcp {

namespace {

constexpr std::size_t most_tail = 2048;
constexpr std::string_view kernel_mark = "kernel:";      // then the sandbox, and behind a further colon a name
constexpr std::string_view commands_mark = "commands:";  // then the sandbox
constexpr const char* ended_by_administrator = "An administrator ended this call.";

double began_at(std::chrono::steady_clock::time_point began)
{
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
    return sandbox_manager::now() - passed.count();
}

void add_row(json::array& rows, const run_row& run, const std::map<std::string, sandbox::cell_state>& live)
{
    auto row = row_of(run, sandbox_manager::now());
    if (const auto cell = live.find(run.sandbox); cell != live.end()) {
        row["memory_bytes"] = cell->second.memory;
        row["cpu_seconds"] = std::chrono::duration<double>(cell->second.cpu).count();
    }
    rows.push_back(std::move(row));
}

struct kernel_key {
    std::string sandbox;
    std::string name;
};

kernel_key place_of(std::string_view id)
{
    id.remove_prefix(kernel_mark.size());
    const auto colon = std::min(id.find(':'), id.size());
    return {std::string(id.substr(0, colon)), std::string(id.substr(std::min(colon + 1, id.size())))};
}

std::string id_of(const kernel_manager::view& kernel)
{
    const std::string name = kernel.name.empty() ? "" : ":" + kernel.name;
    return std::string(kernel_mark) + kernel.sandbox + name;
}

}  // namespace

// The log and the results of calls may say a sandbox by its name.
std::string administration::sandbox_id(const std::string& owner, const std::string& id_or_name)
{
    if (id_or_name.empty() || id_or_name.starts_with("sbx_")) return id_or_name;
    const auto record = of_.all.sandboxes->store().find(owner, id_or_name);
    return record ? record->id : std::string();
}

void administration::add_calls(json::array& rows, const admin_viewer& by, const cells& live)
{
    for (auto& call : of_.core.calls()) {
        if (!by.sees(call.principal)) continue;
        run_row row{call.id, "call", call.principal};
        row.tool = std::move(call.tool);
        row.client = std::move(call.client);
        row.session = std::move(call.session);
        row.first_line = std::move(call.first_line);
        row.output_tail = std::move(call.newest);
        row.sandbox = sandbox_id(call.principal, call.sandbox);
        row.waits = call.waits;
        row.started = began_at(call.began);
        add_row(rows, row, live);
    }
}

void administration::add_jobs(json::array& rows, const admin_viewer& by, const cells& live)
{
    for (const auto& job : of_.all.background->running()) {
        const auto& record = job->record();
        if (!by.sees(record.owner)) continue;
        run_row row{record.id, record.kind(), record.owner};
        row.tool = record.tool;
        row.first_line = first_line(record.label);
        row.output_tail = job->newest();
        row.sandbox = record.sandbox;
        row.waits = job->queue_position() != 0;
        row.started = record.created;
        add_row(rows, row, live);
    }
}

void administration::add_kernels(json::array& rows, const admin_viewer& by, const cells& live)
{
    for (const auto& kernel : of_.all.kernels->list()) {
        if (!by.sees(kernel.owner)) continue;
        run_row row{id_of(kernel), "kernel", kernel.owner};
        row.first_line = kernel.name;
        row.sandbox = kernel.sandbox;
        row.waits = !kernel.busy;
        row.started = kernel.started;
        add_row(rows, row, live);
    }
}

void administration::add_shells(json::array& rows, const admin_viewer& by, const cells& live)
{
    for (auto& shell : of_.all.shells->list(most_tail)) {
        if (!by.sees(shell.owner)) continue;
        run_row row{shell.id, "shell", shell.owner};
        row.output_tail = std::move(shell.newest);
        row.sandbox = shell.sandbox;
        row.started = shell.started;
        add_row(rows, row, live);
    }
    for (const auto& shell : of_.all.command_shells_->living()) {
        if (!by.sees(shell.owner)) continue;
        run_row row{std::string(commands_mark) + shell.sandbox, "shell", shell.owner};
        row.tool = "execute_terminal_command";
        row.sandbox = shell.sandbox;
        row.waits = !shell.busy;
        row.started = shell.started;
        add_row(rows, row, live);
    }
}

awaitable<json::object> administration::runs(admin_viewer by)
{
    const auto live = co_await live_cells();
    json::object answer;
    json::array& rows = answer["runs"].emplace_array();
    add_calls(rows, by, live);
    add_jobs(rows, by, live);
    if (of_.all.kernels) add_kernels(rows, by, live);
    if (of_.all.shells) add_shells(rows, by, live);
    co_return answer;
}

bool administration::end_call(const admin_viewer& by, const std::string& id)
{
    const auto calls = of_.core.calls();
    const auto call = std::ranges::find(calls, id, &call_view::id);
    return call != calls.end() && by.sees(call->principal) && of_.core.end_call(id, ended_by_administrator);
}

bool administration::cancel_job(const admin_viewer& by, const std::string& id)
{
    const auto job = of_.all.background->running(id);
    if (!job || job->ended() || !by.sees(job->record().owner)) return false;
    job->cancel("killed", "ended by an administrator");
    return true;
}

awaitable<bool> administration::end_kernel(admin_viewer by, std::string id)
{
    const auto kernels = of_.all.kernels->list();
    const auto kernel = std::ranges::find(kernels, id, id_of);
    if (kernel == kernels.end() || !by.sees(kernel->owner)) co_return false;
    auto [sandbox, name] = place_of(id);
    const bool ended = co_await of_.all.kernels->end_kernel(sandbox, name, "an administrator ended it");
    co_return ended;
}

bool administration::end_shell(const admin_viewer& by, const std::string& id)
{
    const auto shells = of_.all.shells->list(0);
    const auto shell = std::ranges::find(shells, id, &shell_manager::summary::id);
    return shell != shells.end() && by.sees(shell->owner) && of_.all.shells->end_shell(id);
}

awaitable<bool> administration::end_command_shell(admin_viewer by, std::string id)
{
    const std::string sandbox = id.substr(commands_mark.size());
    const auto shells = of_.all.command_shells_->living();
    const auto shell = std::ranges::find(shells, sandbox, &command_shells::summary::sandbox);
    if (shell == shells.end() || !by.sees(shell->owner)) co_return false;
    co_await of_.all.command_shells_->end(sandbox);
    co_return true;
}

awaitable<bool> administration::end_run(admin_viewer by, std::string id)
{
    if (end_call(by, id) || cancel_job(by, id)) co_return true;
    if (!of_.all.kernels) co_return false;
    if (end_shell(by, id)) co_return true;
    bool ended = false;
    if (id.starts_with(kernel_mark)) ended = co_await end_kernel(by, id);
    if (id.starts_with(commands_mark)) ended = co_await end_command_shell(by, id);
    co_return ended;
}

awaitable<bool> administration::delete_sandbox(admin_viewer by, std::string id)
{
    const auto record = of_.all.sandboxes->store().find_of_any(id);
    if (!record || !by.sees(record->owner)) co_return false;
    caller owner;
    owner.principal = record->owner;
    try {
        co_await of_.all.sandboxes->remove(owner, id);
    } catch (const sandbox_error& gone) {
        if (gone.type != "NotFound") throw http_refusal(409, gone.what(), gone.type);
        co_return false;
    }
    co_return true;
}

}  // namespace cmcp
