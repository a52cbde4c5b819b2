#include "sandboxes/sandbox_runner.hpp"

#include "config/settings.hpp"
#include "runs/bash_manager.hpp"
#include "runs/python_run.hpp"
#include "sandboxes/language_trials.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_source = 8 * 1024 * 1024;
constexpr std::size_t longest_argument = 64 * 1024;
constexpr std::size_t most_named_files = 100;      // named in a result
constexpr std::chrono::seconds time_of_trial{30};  // the first compilation of some languages takes long

constexpr const char* read_anywhere = "REPLY=$(cat <&3); exec 3<&-; eval \"$REPLY\"";

void add_sentence(std::string& note, const std::string& sentence)
{
    if (!note.empty()) note += ' ';
    note += sentence;
}

void check_source(std::string_view field, const std::string& source)
{
    if (source.size() <= longest_source && source.find('\0') == std::string::npos) return;
    throw sandbox_error("InvalidArgument", std::string(field) + " must have no NUL character and at most " +
                                               std::to_string(longest_source) +
                                               " bytes; put data into a file with upload_file_to_sandbox.");
}

void run_in_sh(sandbox::run_request& request, std::string shell, std::string command)
{
    if (command.size() > longest_argument) request.script = std::exchange(command, read_anywhere);
    request.argv = {std::move(shell), "-c", std::move(command)};
}

// A run may pass the limit and end before anybody has looked.
void tell_full_disk(run_outcome& run, std::uint64_t bytes)
{
    const std::uint64_t most = run.limits.workspace_size;
    if (most == 0 || bytes <= most || run.end.why != sandbox::cause::exited) return;
    run.end.why = sandbox::cause::file_size_limit;
    run.end.detail = "the working folder holds " + std::to_string(bytes >> 20) + " MiB now, more than the limit of " +
                     std::to_string(most >> 20) +
                     " MiB (SANDBOX_DISK_QUOTA). Delete what is not needed any more; until then runs may only delete "
                     "there.";
}

}  // namespace

sandbox_runner::sandbox_runner(const settings& config, sandbox_manager& sandboxes, runner runs, blocking_pool& pool)
    : config_(config),
      sandboxes_(sandboxes),
      command_terms_(run_terms::of_commands(config)),
      python_terms_(run_terms::of_python(config)),
      runs_(runs),
      pool_(pool)
{
}

std::string sandbox_runner::program(const sandbox_record& where, const char* name, std::string native) const
{
    if (!in_image(where)) return native;
    if (auto path = sandboxes_.images().of(where).find_program(name)) return std::move(*path);
    throw sandbox_error("NotAvailable", "The image " + where.image + " has no " + name +
                                            ": use what it has, or a sandbox with another image.");
}

std::string sandbox_runner::interpreter(const sandbox_record& where) const
{
    return program(where, "python3", config_.python_interpreter);
}

std::string sandbox_runner::search_path(const sandbox_record& where) const
{
    return in_image(where) ? sandboxes_.images().of(where).search_path() + ":" + sandbox::names_folder
                           : sandbox::usual_path;
}

std::chrono::milliseconds sandbox_runner::time_of(const run_terms& terms, const sandbox_record& where,
                                                  const run_options& options) const
{
    const auto time = terms.time(options);
    const bool asks = !options.timeout && !options.background && sandbox_network::asks_in(where);
    return asks ? time + config_.sandbox_network_ask : time;
}

sandbox::run_request sandbox_runner::base(const sandbox_record& where) const { return request_for(where, true); }
sandbox::run_request sandbox_runner::apart(const sandbox_record& where) const { return request_for(where, false); }

sandbox::run_request sandbox_runner::request_for(const sandbox_record& where, bool beside_others) const
{
    sandbox::run_request request;
    const std::string& home = config_.sandbox_work_dir;
    request.workspace = sandboxes_.places().files(where).string();
    request.workspace_inside = home;
    request.programs.all = true;
    request.principal = where.owner;
    request.limits = common_limits(config_);
    request.limits.workspace_size = sandboxes_.most_files_of(where);
    std::string path = search_path(where);
    if (where.machine) path = "/usr/local/sbin:/usr/sbin:/sbin:" + path;
    if (in_image(where)) {
        image root = sandboxes_.images().of(where);
        request.image = std::move(root.digest);
        request.environment = std::move(root.environment);
        std::erase_if(request.environment, [](const auto& each) { return each.first == "HOME"; });
    }
    limit_as_cell(request, where);
    if (beside_others) join_cell(request, where);
    request.machine = where.machine && beside_others;
    request.user = where.user;
    if (request.tools) path += std::string(":") + sandbox::given_folder + "/bin";
    request.environment.emplace_back("PATH", home + "/.local/bin:" + home + "/node_modules/.bin:" + path);
    request.environment.emplace_back("NODE_PATH", home + "/node_modules");
    if (beside_others && request.doors.empty()) give_up_soon_offline(request);
    return request;
}

sandbox::run_request sandbox_runner::listed_base(const sandbox_record& where) const
{
    sandbox::run_request request;
    request.workspace = sandboxes_.places().files(where).string();
    request.workspace_inside = config_.sandbox_work_dir;
    request.principal = where.owner;
    request.user = where.user;
    return request;
}

// With PYTHON_ZYGOTE=auto, a run that names the libraries for data becomes a clone of the interpreter that has them,
// in a cell of its own.
void sandbox_runner::share_cell(sandbox::run_request& request, const sandbox_record& where, std::string shape) const
{
    if (request.prepared && request.data_libraries && config_.python_zygote == "auto") return;
    request.cell = sandboxes_.cells().name_of(where);
    if (request.cell.empty()) return;
    request.shape = std::move(shape);
    const std::uint64_t together = runs_of_a_cell(config_);
    request.limits.process_memory = request.limits.memory;
    request.limits.memory *= together;
    request.limits.processes *= together;
}

awaitable<run_outcome> sandbox_runner::listed(caller who, request_io& io, sandbox_record where, std::string shape,
                                              sandbox::run_request request, run_options options)
{
    request.limits.workspace_size = sandboxes_.most_files_of(where);
    share_cell(request, where, std::move(shape));
    auto work = listed_here(std::move(who), io, where, std::move(request), std::move(options));
    return guarded(std::move(where), std::move(work));
}

awaitable<run_outcome> sandbox_runner::listed_here(caller who, request_io& io, sandbox_record where,
                                                   sandbox::run_request request, run_options options)
{
    const bool is_shared = !request.cell.empty();
    const std::string setting = request.prepared ? "PYTHON_MEMORY_LIMIT" : "SANDBOX_MEMORY_LIMIT";
    const std::string most = std::to_string(request.limits.process_memory >> 20);
    if (is_shared) co_await sandboxes_.admit_run(where);
    auto outcome = co_await runs_.run(std::move(who), io, std::move(request), std::move(options));
    if (is_shared && outcome.end.why == sandbox::cause::memory_limit && !outcome.end.detail.empty())
        outcome.end.detail = "such runs in this sandbox together needed more memory than " + setting + " (" + most +
                             " MiB) gives to so many at once, so all of them were ended. Work on less data at a time.";
    outcome.note = sandboxes_.cells().take_told(where.id);
    if (!outcome.output_path.empty()) outcome.output_uri = sandbox_manager::uri_of(where, outcome.output_path);
    co_return outcome;
}

// The limits are those of all that goes on in the cell, so every run asks for the same.
void sandbox_runner::limit_as_cell(sandbox::run_request& request, const sandbox_record& where) const
{
    if (sandboxes_.cells().name_of(where).empty()) return;
    request.limits.process_memory = config_.memory_limit;
    request.limits.memory = config_.memory_limit + config_.kernel_memory_limit;
    request.limits.cpu = std::chrono::ceil<std::chrono::seconds>(config_.kernel_cpu_limit);  // of a server, too
}

void sandbox_runner::join_cell(sandbox::run_request& request, const sandbox_record& where) const
{
    request.cell = sandboxes_.cells().name_of(where);
    if (!request.cell.empty()) sandboxes_.network().join(request, where);
}

tool_rights::ticket sandbox_runner::right_for(const sandbox::run_request& request, const caller& who,
                                              const std::string& id) const
{
    return request.tools ? sandboxes_.tools().give(who, id) : tool_rights::ticket();
}

awaitable<sandbox_outcome> sandbox_runner::python(caller who, request_io& io, sandbox_record where, std::string code,
                                                  run_options options)
{
    check_source("code", code);
    auto request = base(where);
    run_python(request, python_home::sandbox, interpreter(where), std::move(code));
    python_terms_.limit_time(request, time_of(python_terms_, where, options), options);
    return run(std::move(who), io, std::move(where), std::move(request), std::move(options));
}

// Where an image has no bash, its sh reads the command in its own way.
void sandbox_runner::run_in_shell(sandbox::run_request& request, const sandbox_record& where, std::string text) const
{
    if (!in_image(where)) return run_in_bash(request, std::move(text));
    const auto bash = sandboxes_.images().of(where).find_program("bash");
    if (!bash) return run_in_sh(request, program(where, "sh", {}), std::move(text));
    run_in_bash(request, std::move(text));
    request.argv.front() = *bash;
}

sandbox::run_request sandbox_runner::service(const sandbox_record& where, std::string text) const
{
    auto request = base(where);
    run_in_shell(request, where, std::move(text));
    add_python_variables(request, python_home::sandbox);
    add_given_python(request);
    request.merged = true;
    request.label = "service";
    return request;
}

awaitable<sandbox_outcome> sandbox_runner::command(caller who, request_io& io, sandbox_record where, std::string text,
                                                   run_options options)
{
    check_source("command", text);
    auto request = base(where);
    run_in_shell(request, where, std::move(text));
    add_python_variables(request, python_home::sandbox);
    add_given_python(request);
    command_terms_.limit_time(request, time_of(command_terms_, where, options), options);
    return run(std::move(who), io, std::move(where), std::move(request), std::move(options));
}

sandbox::run_request sandbox_runner::program_request(const sandbox_record& where, const language& of,
                                                     const std::string& program, std::string source) const
{
    auto request = base(where);
    request.merged = true;
    if (of.command.empty()) {
        run_python(request, python_home::sandbox, interpreter(where), std::move(source));
    } else {
        request.argv = {this->program(where, "sh", "/bin/sh"), "-c", language_script(of, program)};
        request.script = std::move(source);
        add_python_variables(request, python_home::sandbox);
        add_given_python(request);
    }
    return request;
}

sandbox::run_request sandbox_runner::trial(const language& of, const std::string& program, std::string source) const
{
    auto request = program_request(sandbox_record(), of, program, std::move(source));
    request.workspace.clear();
    request.limits.wall = time_of_trial;
    return request;
}

std::string sandbox_runner::program_of(const sandbox_record& where, const language& of) const
{
    if (!in_image(where)) return languages_->program(of);
    const image root = sandboxes_.images().of(where);
    for (const auto name : split(of.programs, ' '))
        if (auto path = root.find_program(name)) return std::move(*path);
    return {};
}

awaitable<sandbox_outcome> sandbox_runner::code(caller who, request_io& io, sandbox_record where, std::string source,
                                                std::string language, run_options options)
{
    check_source("code", source);
    const auto* known = find_language(language);
    if (known == nullptr)
        throw sandbox_error("InvalidArgument",
                            "Unsupported language: " + language.substr(0, 60) + ". " + languages_->sentence());
    const std::string program = program_of(where, *known);
    if (program.empty())
        throw sandbox_error("InvalidArgument", "Nothing that runs " + std::string(known->name) +
                                                   " is in the sandbox (" + std::string(known->programs) + ")." +
                                                   (in_image(where) ? "" : " " + languages_->sentence()));
    auto request = program_request(where, *known, program, std::move(source));
    python_terms_.limit_time(request, time_of(python_terms_, where, options), options);
    return run(std::move(who), io, std::move(where), std::move(request), std::move(options));
}

awaitable<sandbox_outcome> sandbox_runner::run(caller who, request_io& io, sandbox_record where,
                                               sandbox::run_request request, run_options options)
{
    auto ticket = right_for(request, who, where.id);
    if (request.tools) request.environment.emplace_back(tool_rights::variable, ticket.text());
    auto running = with_tools(who, io, where, std::move(request), std::move(options), std::move(ticket));
    auto work = scanned(std::move(who), io, where, std::move(running));
    return guarded(std::move(where), std::move(work));
}

awaitable<run_outcome> sandbox_runner::with_tools(caller who, request_io& io, sandbox_record where,
                                                  sandbox::run_request request, run_options options,
                                                  tool_rights::ticket)
{
    if (!request.cell.empty()) co_await sandboxes_.admit_run(std::move(where));
    auto outcome = co_await runs_.run(std::move(who), io, std::move(request), std::move(options));
    co_return outcome;
}

sandbox::run_result end_of_last_call(sandbox::run_result of_program)
{
    using sandbox::cause;
    if (of_program.why == cause::exited || of_program.why == cause::signalled) of_program.denied.clear();
    return of_program;
}

namespace {

// False: it has not come until then.
awaitable<bool> wait_for_turn(call_line::turn& mine, request_io& io, event::clock::time_point until)
{
    bool in_time = true;
    while (!mine.has_come() && in_time) {
        io.queued(mine.position());
        in_time = co_await mine.wait(until);
    }
    co_return mine.has_come();
}

[[noreturn]] void throw_busy(std::string_view program)
{
    const bool is_kernel = program == "kernel";
    throw sandbox_error("Busy",
                        "The " + std::string(program) +
                            " still runs an earlier call, so this one has done nothing. Wait for that (job_poll, "
                            "where it is a job), or end it with job_kill" +
                            (is_kernel ? " or interrupt_kernel." : ", or leave shell out."));
}

}  // namespace

awaitable<> sandbox_runner::wait_in_line(call_line::turn& mine, request_io& io, run_options& options,
                                         const run_terms& terms, std::string_view program) const
{
    if (mine.has_come()) co_return;
    json::value waits = json::string("Waiting for the run before in this " + std::string(program) + ".");
    co_await io.log(log_severity::info, std::string(program), std::move(waits));
    if (!options.background) {
        const bool in_time = co_await wait_for_turn(mine, io, event::clock::now() + terms.time(options));
        if (in_time) co_return;
        printed_so_far nothing;
        if (options.may_outlive) options.background = co_await io.outlive(std::move(nothing));
        if (!options.background) throw_busy(program);
        options.timeout.reset();
    }
    co_await wait_for_turn(mine, io, event::clock::time_point::max());
}

awaitable<run_admission::slot> sandbox_runner::admit(caller who, request_io& io, bool background) const
{
    auto place = co_await runs_.admit(std::move(who), io, background);
    if (!place) throw sandbox_error("Busy", busy_sentence);
    co_return place;
}

awaitable<sandbox_outcome> sandbox_runner::with_files(sandbox_record where, awaitable<run_outcome> work)
{
    const auto files = sandboxes_.places().files(where);
    auto look = scan_tree(files);
    auto before = co_await pool_.run_long(where.owner, std::move(look));
    sandbox_outcome outcome;
    outcome.run = co_await std::move(work);
    if (!outcome.run.refused.empty()) {  // nothing began, so nothing has changed
        outcome.where = std::move(where);
        co_return outcome;
    }
    auto look_again = scan_tree(files);
    auto after = co_await pool_.run_long(where.owner, std::move(look_again));
    if (after.bytes > before.bytes) outcome.grown_to = after.bytes;
    // Both end there, too: they may hold very many files.
    auto compare = [before = std::move(before), after = std::move(after)]() mutable {
        const tree_scan earlier = std::move(before), later = std::move(after);
        return changed_files(earlier, later, most_named_files);
    };
    outcome.files = co_await pool_.run(where.owner, std::move(compare));
    if (!outcome.run.output_path.empty())
        outcome.run.output_uri = sandbox_manager::uri_of(where, outcome.run.output_path);
    outcome.where = std::move(where);
    co_return outcome;
}

awaitable<sandbox_outcome> sandbox_runner::scanned(caller who, request_io& io, sandbox_record where,
                                                   awaitable<run_outcome> work)
{
    if (sandbox_network::asks_in(where))
        work = sandboxes_.network().with_user(where, std::move(who), io, std::move(work));
    auto outcome = co_await with_files(where, std::move(work));
    outcome.run.note = sandboxes_.cells().loss_before(where, outcome.run.end);
    if (outcome.run.note.empty()) outcome.run.note = sandboxes_.network().note_on_secrets(where);
    for (const auto& each : sandboxes_.network().take_notes(where.id)) add_sentence(outcome.run.note, each);
    for (auto& each : sandboxes_.network().take_refusals(where.id)) outcome.run.end.denied.push_back(std::move(each));
    if (outcome.grown_to != 0) tell_full_disk(outcome.run, outcome.grown_to);
    co_return outcome;
}

}  // namespace cmcp
