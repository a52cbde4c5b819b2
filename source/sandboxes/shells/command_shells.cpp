#include "shells/command_shells.hpp"

#include "config/settings.hpp"
#include "runs/output_collector.hpp"
#include "runs/python_run.hpp"
#include "shells/shell_possible.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_shell_command = 1 << 20;

void check_command(const std::string& command)
{
    if (command.size() <= longest_shell_command && command.find('\0') == std::string::npos) return;
    throw sandbox_error("InvalidArgument", "command must have no NUL character and at most " +
                                               std::to_string(longest_shell_command) +
                                               " bytes; put data into a file with upload_file_to_sandbox.");
}

// The kernel's EAGAIN for a process means a limit of processes alone.
bool failed_to_fork(const run_outcome& run)
{
    return run.err.find("fork: ") != std::string::npos &&
           run.err.find("Resource temporarily unavailable") != std::string::npos;
}

std::string why_unusable(const sandbox::run_result& end)
{
    if (end.why == sandbox::cause::setup_failed) return "The shell could not be started: " + end.error;
    if (end.why != sandbox::cause::exited) return "The shell could not be started in time; try again.";
    return "The shell could not be started: the bash of this sandbox does not export what a shell that lasts needs "
           "(Debian's, Ubuntu's and Fedora's do). Leave shell out.";
}

std::string note_on_end(const command_shell& shell, const command_answer& answer)
{
    if (answer.timed_out && !answer.lost)
        return "The command was interrupted. The shell goes on with its folder and variables.";
    if (answer.by_errexit)
        return "set -e ended the command; the shell goes on with its folder and variables. set +e turns that off.";
    if (answer.moved_output && !answer.lost)
        return "exec sent this command's output elsewhere; the next call prints into its own answer again.";
    if (!answer.lost) return "";
    const auto& end = *shell.end();
    if (end.why == sandbox::cause::lost)
        return "The shell is gone with the launcher; folder, variables and functions are lost.";
    if (answer.unusable) return why_unusable(end);
    const std::string why = answer.timed_out ? "because it did not let itself be interrupted" : "with the command";
    return "The shell ended " + why +
           ". The next call starts another one; folder, variables, functions and programs that it ran with & are lost.";
}

std::string note_of(const command_shell& shell, const command_answer& answer)
{
    std::string note = note_on_end(shell, answer);
    if (answer.late_output.empty()) return note;
    constexpr std::size_t longest_late = 2000;
    auto late = replace_invalid_utf8(answer.late_output);
    if (late.size() > longest_late) {
        std::size_t begin = late.size() - longest_late;
        while (begin < late.size() && (static_cast<unsigned char>(late[begin]) & 0xC0) == 0x80) ++begin;
        late = "… " + late.substr(begin);
    }
    while (late.ends_with('\n')) late.pop_back();
    return note + (note.empty() ? "" : " ") + "Jobs have printed since the command before: " + late;
}

// The right ends with the command, though the shell's variable stays.
awaitable<sandbox::run_result> run_command(std::shared_ptr<command_shell> shell, std::string command,
                                           std::string folder, tool_rights::ticket right,
                                           std::chrono::milliseconds limit, command_answer& answer,
                                           output_collector& output)
{
    std::string variable;
    if (!right.text().empty()) variable = std::string(tool_rights::variable) + "=" + std::string(right.text());
    answer = co_await shell->execute(std::move(command), std::move(folder), std::move(variable), output, limit);
    sandbox::run_result end;
    end.why = sandbox::cause::exited;
    if (answer.lost && shell->end()) end = end_of_last_call(*shell->end());
    if (!answer.lost) end.exit_code = answer.exit;
    if (answer.timed_out) end.why = sandbox::cause::timeout;
    co_return end;
}

}  // namespace

struct command_shells::kept {
    bool lives() const { return shell && shell->alive(); }

    std::string owner;
    std::shared_ptr<command_shell> shell;
    double started = 0;
    const std::shared_ptr<call_line> line = std::make_shared<call_line>();
};

command_shells::command_shells(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                               sandbox_runner& runs)
    : config_(config), executor_(executor), backend_(backend), runs_(runs)
{
}

command_shells::~command_shells() = default;

std::shared_ptr<command_shells::kept> command_shells::shell_of(const sandbox_record& where)
{
    auto& slot = shells_[where.id];
    if (!slot) slot = std::make_shared<kept>();
    slot->owner = where.owner;
    return slot;
}

// The caller's longest unused shell gives way.
awaitable<> command_shells::make_room(std::string owner)
{
    for (;;) {
        std::size_t own = 0, all = 0;
        std::shared_ptr<kept> unused;
        for (const auto& [id, one] : shells_) {
            if (!one->lives()) continue;
            ++all;
            if (one->owner != owner) continue;
            ++own;
            if (one->line->empty() && (!unused || one->line->used() < unused->line->used())) unused = one;
        }
        if (own < runs_.sandboxes().limits().of(owner).shells && all < config_.max_shells) co_return;
        if (!unused)
            throw sandbox_error("QuotaExceeded",
                                "As many shells live as your quota of shells and SANDBOX_MAX_LIVE allow; wait for one "
                                "of yours, or leave "
                                "shell out.");
        co_await unused->shell->finish();
    }
}

void command_shells::start(kept& one, const sandbox_record& where)
{
    auto request = runs_.base(where);
    become_shell(request);
    add_python_variables(request, python_home::sandbox);
    add_given_python(request);
    request.limits.output = config_.output_hard_limit;
    request.label = "command shell";
    one.started = sandbox_manager::now();
    one.shell = std::make_shared<command_shell>(executor_, backend_);
    one.shell->start(std::move(request));
}

awaitable<sandbox_outcome> command_shells::run(caller who, request_io& io, sandbox_record where, std::string command,
                                               run_options options)
{
    auto work = take_turn(std::move(who), io, where, std::move(command), std::move(options));
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<sandbox_outcome> command_shells::take_turn(caller who, request_io& io, sandbox_record where,
                                                     std::string command, run_options options)
{
    check_command(command);
    const auto one = shell_of(where);
    call_line::turn mine(one->line);
    co_await runs_.wait_in_line(mine, io, options, runs_.command_terms(), "shell");
    auto place = co_await runs_.admit(who, io, options.background);
    if (!one->lives()) {
        co_await runs_.sandboxes().admit_to_memory(where);
        co_await make_room(where.owner);
        start(*one, where);
    }
    const auto shell = one->shell;
    command_answer answer;
    auto running = run_once(shell, who, io, where, std::move(command), std::move(options), &place, answer);
    auto outcome = co_await runs_.scanned(std::move(who), io, where, std::move(running));
    if (outcome.run.end.exit_code != 0) co_await look_at_limit(outcome.run, where.id);
    const std::string note = note_of(*shell, answer);
    if (!note.empty()) outcome.run.note += (outcome.run.note.empty() ? "" : " ") + note;
    co_return outcome;
}

// The launcher tells of refused processes at the end of a run; the shell's goes on.
awaitable<> command_shells::look_at_limit(run_outcome& run, std::string id)
{
    const auto cells = co_await runs_.sandboxes().cells().now();
    const auto live = cells.find(id);
    if (live == cells.end()) co_return;
    const std::uint64_t processes = live->second.processes;
    if (processes >= run.limits.processes || failed_to_fork(run)) run.end.live_at_limit = processes;
}

awaitable<run_outcome> command_shells::run_once(std::shared_ptr<command_shell> shell, caller who, request_io& io,
                                                sandbox_record where, std::string command, run_options options,
                                                run_admission::slot* place, command_answer& answer)
{
    const auto request = runs_.base(where);
    const auto time = runs_.time_of(runs_.command_terms(), where, options);
    overtime beyond{runs_.command_terms().more_than(time, options), place, admission_key(who)};
    const auto began = event::clock::now();
    std::string folder = options.working_dir;
    if (!folder.empty() && !folder.starts_with('/')) folder = config_.sandbox_work_dir + "/" + folder;
    const auto right = runs_.right_for(request, who, where.id);
    collected_work work = [shell, command = std::move(command), folder, right, time,
                           &answer](output_collector& output) {
        return run_command(shell, command, folder, right, time, answer, output);
    };
    output_location kept_at{request.principal, request.workspace};
    auto outcome = co_await runs_.runs().collect(io, std::move(kept_at), options.max_output, std::move(work), &beyond);
    outcome.end.wall = std::chrono::duration_cast<std::chrono::microseconds>(event::clock::now() - began);
    outcome.limits = request.limits;
    outcome.limits.wall = beyond.used ? time + beyond.more : time;
    co_return outcome;
}

std::vector<command_shells::summary> command_shells::living() const
{
    std::vector<summary> all;
    for (const auto& [sandbox, one] : shells_)
        if (one->lives()) all.push_back({sandbox, one->owner, !one->line->empty(), one->started});
    return all;
}

bool command_shells::is_idle(const std::string& id) const
{
    const auto entry = shells_.find(id);
    return entry != shells_.end() && entry->second->lives() && entry->second->line->empty();
}

awaitable<> command_shells::end(std::string id)
{
    const auto entry = shells_.find(id);
    if (entry == shells_.end()) co_return;
    const auto one = entry->second;
    if (one->line->empty()) shells_.erase(entry);
    if (one->lives()) co_await one->shell->finish();
}

awaitable<> command_shells::stop()
{
    const auto all = std::exchange(shells_, {});
    for (const auto& [id, one] : all)
        if (one->lives()) co_await one->shell->finish();
}

}  // namespace cmcp
