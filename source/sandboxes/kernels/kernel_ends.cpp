#include "kernels/kernel_ends.hpp"

#include "config/settings.hpp"
#include "files/folder_reader.hpp"
#include "jsonrpc/read_object.hpp"
#include "kernels/kernel_slot.hpp"
#include "log/log.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr auto keeping_limit = std::chrono::seconds(5);
constexpr std::size_t most_left_out = 10;  // variables that a note names
constexpr std::size_t longest_reason = 120;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string without_stop(std::string sentence)
{
    while (sentence.ends_with('.')) sentence.pop_back();
    return sentence;
}

std::string why_memory(const sandbox::run_result& end, const settings& config)
{
    if (!end.detail.empty()) return "The kernel was ended: " + without_stop(end.detail);
    return "The kernel was ended because it needed more than the " + mebibytes(config.kernel_memory_limit) +
           " of SANDBOX_KERNEL_MEMORY";
}

std::string names_left_out(const json::array& all)
{
    std::string names;
    for (std::size_t i = 0; i < std::min(all.size(), most_left_out); ++i) {
        const auto* one = all[i].if_object();
        if (one == nullptr) continue;
        names.append(names.empty() ? "" : ", ").append(text_of(*one, "name").substr(0, longest_reason));
        names.append(" (").append(text_of(*one, "reason").substr(0, longest_reason)).append(")");
    }
    if (all.size() > most_left_out) names.append(" and " + std::to_string(all.size() - most_left_out) + " more");
    return names;
}

std::string advice(bool has_some)
{
    return has_some ? ", and those that could give way run code. Wait for one of yours, end one with restart_kernel, "
                      "or leave stateful out."
                    : ", and no other caller has one to spare. Try again in some minutes, or leave stateful out.";
}

}  // namespace

std::string why_ended(const sandbox::run_result& end, const settings& config)
{
    using sandbox::cause;
    if (end.why == cause::output_limit)
        return "The kernel was ended because a call printed more than the " + mebibytes(config.output_hard_limit) +
               " that one may print";
    if (end.why == cause::cpu_limit) return "The kernel was ended because it had used up its processor time";
    if (end.why == cause::memory_limit) return why_memory(end, config);
    if (end.why == cause::setup_failed) return "The kernel could not be started: " + without_stop(end.error);
    if (end.why == cause::lost) return without_stop(end.error);
    if (end.why == cause::file_size_limit && !end.detail.empty())
        return "The kernel was ended: " + without_stop(end.detail);
    if (end.why == cause::cancelled)
        return "The kernel was ended" + (end.error.empty() ? "" : " because " + without_stop(end.error));
    return "The kernel ended (" + std::string(sandbox::to_string(end.why)) + ", exit code " +
           std::to_string(end.exit_code) + ")";
}

std::string lost_note(const sandbox::run_result& end, const settings& config)
{
    const bool began = end.why != sandbox::cause::setup_failed;
    return why_ended(end, config) + "." + (began ? " It starts anew with the next call; its variables are lost." : "");
}

std::string fate_of_variables(const json::object& earlier)
{
    if (!flag_of(earlier, "kept")) {
        const auto reason = text_of(earlier, "reason").substr(0, longest_reason);
        return "its variables are lost" + (reason.empty() ? "" : " (" + reason + ")");
    }
    const auto* list = earlier.if_contains("left_out");
    const auto left_out = list && list->is_array() ? names_left_out(list->get_array()) : std::string();
    const auto count = number_of(earlier, "variables");
    if (count == 0 && left_out.empty()) return {};
    return std::to_string(count) + (count == 1 ? " variable is back" : " variables are back") +
           (left_out.empty() ? "" : ", but not " + left_out);
}

// The parts of kernel_manager that end kernels, keep their variables, and count those that live.

std::string kernel_manager::loss_before(kernel& one, const json::object& earlier)
{
    std::string why = std::exchange(one.why_ended, {});
    if (why.empty() && earlier.empty()) return {};
    const auto fate = fate_of_variables(earlier);
    if (fate.empty()) return {};
    if (why.empty()) why = "An earlier kernel of these files had ended (restart of the server, fork or snapshot)";
    return why + ". It was started anew: " + fate + ".";
}

std::string kernel_manager::of_kernel(const kernel& one)
{
    return one.name.empty() ? " of the kernel" : " of the kernel " + one.name;
}

std::uint64_t kernel_manager::room_for_state(const std::string& owner) const
{
    const auto most = runs_.sandboxes().limits().of(owner).disk;
    const auto used = std::min(runs_.sandboxes().store().disk(owner), most);
    return std::min({config_.kernel_memory_limit, config_.file_size_limit, most - used});
}

awaitable<std::string> kernel_manager::keep_state(std::shared_ptr<kernel> one, std::string why)
{
    one->why_ended = std::move(why);
    const auto meanwhile = std::make_shared<call_line::turn>(one->line);  // a call waits, and starts the next kernel
    const auto answer = co_await one->process->keep(room_for_state(one->owner), keeping_limit);
    log::info("kernel_kept", {{"sandbox", one->id}, {"done", answer.ok}, {"bytes", number_of(answer.state, "bytes")}});
    sandbox_record where;
    where.id = one->id;
    where.owner = one->owner;
    runs_.sandboxes().measure_soon(where);
    if (!answer.ok) co_return "all variables" + of_kernel(*one);
    const auto* list = answer.state.if_contains("left_out");
    const auto left_out = list && list->is_array() ? names_left_out(list->get_array()) : std::string();
    co_return left_out.empty() ? left_out : "variables" + of_kernel(*one) + ": " + left_out;
}

awaitable<std::string> kernel_manager::keep(std::string id, std::string why)
{
    std::string lost;
    for (const auto& one : all_of(id)) {
        const auto unkept = co_await keep_one(one, why);
        if (!unkept.empty()) lost += (lost.empty() ? "" : "; ") + unkept;
    }
    co_return lost;
}

awaitable<std::string> kernel_manager::keep_one(std::shared_ptr<kernel> one, std::string why)
{
    std::string lost;
    if (!one->lives()) co_return lost;
    one->returns = true;
    one->why_ended = why;
    if (one->line->empty())
        lost = co_await keep_state(one, std::move(why));
    else
        lost = "all variables" + of_kernel(*one) + ", which ran code";
    co_return lost;
}

// The copy has the variables. Here they would be stale by the time that a later kernel found them.
void kernel_manager::forget_kept(const std::filesystem::path& workspace, const std::vector<std::string>& folders)
{
    const unique_fd root = open_folder(AT_FDCWD, workspace.c_str());
    for (const auto& each : folders) {
        const unique_fd folder = open_folder(root.get(), each.c_str());
        if (folder) ::unlinkat(folder.get(), "state", 0);
    }
}

awaitable<kernel_manager::kept_copy> kernel_manager::copy_aside(sandbox_record of)
{
    kept_copy copy;
    std::vector<std::shared_ptr<call_line::turn>> turns;
    std::vector<std::string> folders;
    for (const auto& one : all_of(of.id)) {
        if (!one->lives()) continue;
        ++copy.busy;
        auto mine = std::make_shared<call_line::turn>(one->line);
        const auto until = event::clock::now() + keeping_limit;
        bool in_time = true;
        while (!mine->has_come() && in_time) in_time = co_await mine->wait(until);
        if (!mine->has_come() || !one->lives()) continue;
        turns.push_back(std::move(mine));
        const auto answer = co_await one->process->keep(room_for_state(one->owner), keeping_limit);
        if (!answer.ok) continue;
        folders.push_back(one->stored_folder());
        ++copy.kept;
        --copy.busy;
    }
    const auto workspace = runs_.sandboxes().places().files(of);
    std::function<void()> forget = [workspace, folders] { forget_kept(workspace, folders); };
    copy.folder = co_await runs_.sandboxes().copy_aside(of, std::move(forget));
    co_return copy;
}

std::vector<std::shared_ptr<kernel_manager::kernel>> kernel_manager::all_of(const std::string& id) const
{
    std::vector<std::shared_ptr<kernel>> all;
    for (const auto& [key, one] : kernels_)
        if (key.first == id) all.push_back(one);
    return all;
}

bool kernel_manager::interrupt(const std::string& id, const std::string& name)
{
    const auto entry = kernels_.find({id, name});
    if (entry == kernels_.end() || entry->second->line->empty() || !entry->second->process) return false;
    entry->second->process->interrupt();
    return true;
}

awaitable<> kernel_manager::end(std::string id)
{
    for (const auto& one : all_of(id)) co_await end_one(one);
}

awaitable<> kernel_manager::end_one(std::shared_ptr<kernel> one)
{
    if (!std::exchange(one->returns, false) && one->line->empty()) kernels_.erase({one->id, one->name});
    if (one->lives()) co_await one->process->finish();
}

awaitable<bool> kernel_manager::end_kernel(std::string sandbox, std::string name, std::string why)
{
    const auto entry = kernels_.find({sandbox, name});
    if (entry == kernels_.end() || !entry->second->lives()) co_return false;
    const auto one = entry->second;
    one->why_ended = "The kernel was ended because " + why;
    co_await one->process->finish(std::move(why));
    co_return true;
}

awaitable<bool> kernel_manager::restart(sandbox_record where, bool keep_variables, std::string name)
{
    const auto one = kernel_of(where, name);
    const bool was_running = one->lives();
    if (keep_variables) co_await keep_one(one, "The kernel was restarted");
    if (one->lives()) co_await one->process->finish();
    if (keep_variables) co_return was_running;
    one->process.reset();
    one->why_ended.clear();
    one->forgets = true;
    runs_.sandboxes().remove_soon(where.owner, runs_.sandboxes().places().files(where) / one->stored_folder());
    co_return was_running;
}

awaitable<> kernel_manager::keep_at_end(std::shared_ptr<kernel> one)
{
    co_await keep_state(std::move(one), "The server was stopped");
}

awaitable<> kernel_manager::stop()
{
    const auto all = std::exchange(kernels_, {});
    task_group keeping(executor_);
    for (const auto& [key, one] : all)
        if (one->lives() && one->line->empty() && one->name.empty()) keeping.spawn("keep kernel", keep_at_end(one));
    co_await keeping.wait_idle(keeping_limit);
    for (const auto& [key, one] : all)
        if (one->lives()) co_await one->process->finish();
}

std::vector<kernel_manager::view> kernel_manager::list() const
{
    std::vector<view> all;
    for (const auto& [key, one] : kernels_)
        if (one->lives()) all.push_back({one->id, one->name, one->owner, !one->line->empty(), one->started});
    return all;
}

std::size_t kernel_manager::count(const std::string* owner) const
{
    return static_cast<std::size_t>(std::ranges::count_if(kernels_, [&](const auto& entry) {
        return entry.second->lives() && (owner == nullptr || entry.second->owner == *owner);
    }));
}

std::size_t kernel_manager::idle_in(const std::string& id) const
{
    return static_cast<std::size_t>(std::ranges::count_if(kernels_, [&](const auto& entry) {
        return entry.first.first == id && entry.second->lives() && entry.second->line->empty();
    }));
}

// Empty: one more kernel of this caller may live.
std::string kernel_manager::why_full(const std::string& owner) const
{
    const std::string sentence = "As many kernels live as ";
    auto& limits = runs_.sandboxes().limits();
    if (count(&owner) >= limits.of(owner).kernels)
        return sentence + limits.refusal_in_words(owner, &principal_limits::kernels);
    if (count(nullptr) < config_.max_kernels) return {};
    return sentence + "SANDBOX_MAX_LIVE allows (" + std::to_string(config_.max_kernels) + ")";
}

// The longest unused of the caller's own kernels, else one of a caller who has more of them; null: all run code.
std::shared_ptr<kernel_manager::kernel> kernel_manager::longest_unused(const std::string& owner) const
{
    const auto own = count(&owner);
    std::shared_ptr<kernel> best;
    for (const auto& [id, each] : kernels_) {
        if (!each->lives() || !each->line->empty()) continue;
        if (each->owner != owner && count(&each->owner) <= own + 1) continue;
        const auto rank = [&](const kernel& of) { return std::pair(of.owner != owner, of.line->used()); };
        if (!best || rank(*each) < rank(*best)) best = each;
    }
    return best;
}

// No coroutine of another call can take a place between the last look and the return.
awaitable<> kernel_manager::make_room(std::string owner, request_io& io)
{
    for (auto full = why_full(owner); !full.empty(); full = why_full(owner)) {
        const auto idle = longest_unused(owner);
        if (!idle) throw sandbox_error("QuotaExceeded", full + advice(count(&owner) != 0));
        const auto meanwhile =
            std::make_shared<call_line::turn>(idle->line);  // a call on that kernel waits and starts it anew
        co_await keep_state(idle, "The kernel had been ended to make room for another one");
        log::info("kernel_gave_way", {{"principal", log::unless_empty(idle->owner)}});
        co_await idle->process->finish();
        if (idle->owner == owner)
            co_await tell_caller(
                io, log_severity::notice,
                full + ": your longest unused kernel was ended. Its variables are back with its next call.");
    }
}

}  // namespace cmcp
