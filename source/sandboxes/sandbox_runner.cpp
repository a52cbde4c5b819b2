#include "sandboxes/sandbox_runner.hpp"

#include "files/trees.hpp"
#include "runs/bash_manager.hpp"
#include "runs/python_run.hpp"
#include "sandboxes/language_trials.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_source = 8 * 1024 * 1024;
constexpr std::size_t longest_argument = 64 * 1024;
constexpr std::size_t most_named_files = 100;      // named in a result
constexpr std::chrono::seconds time_of_trial{30};  // the first compilation of some languages takes long

// An image has a bash or another shell, which reads the command in its own way.
constexpr const char* image_shell =
    "command -v bash > /dev/null && exec bash --norc --noprofile -c \"$0\" bash; exec sh -c \"$0\" sh";
constexpr const char* read_anywhere = "REPLY=$(cat <&3); exec 3<&-; eval \"$REPLY\"";

void check_source(std::string_view field, const std::string& source)
{
    if (source.size() <= longest_source && source.find('\0') == std::string::npos) return;
    throw sandbox_error("InvalidArgument", std::string(field) + " must have no NUL character and at most " +
                                               std::to_string(longest_source) +
                                               " bytes; put data into a file with upload_file_to_sandbox.");
}

void run_in_shell_of_image(sandbox::run_request& request, std::string command)
{
    if (command.size() > longest_argument) request.script = std::exchange(command, read_anywhere);
    request.argv = {"/bin/sh", "-c", image_shell, std::move(command)};
}

// The owner's quota bounds the workspace of a sandbox.
void name_quota(std::string& detail)
{
    constexpr std::string_view general = "SANDBOX_WORKSPACE_MAX_MB";
    if (const auto at = detail.find(general); at != std::string::npos)
        detail.replace(at, general.size(), "SANDBOX_DISK_QUOTA");
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

bool sandbox_runner::in_image(const sandbox_record& where) const { return sandboxes_.in_image(where.image); }

std::string sandbox_runner::interpreter(const sandbox_record& where) const
{
    return in_image(where) ? "python3" : config_.python_interpreter;
}

sandbox::run_request sandbox_runner::base(const sandbox_record& where) const
{
    sandbox::run_request request;
    const std::string& home = config_.sandbox_work_dir;
    request.workspace = sandboxes_.places().workspace(where.id).string();
    request.workspace_inside = home;
    request.programs.all = true;
    request.sandbox = where.id;
    request.principal = where.owner;
    request.limits = common_limits(config_);
    // The owner's other sandboxes leave so much; 0 would mean no limit.
    const std::uint64_t elsewhere =
        sandboxes_.store().disk(where.owner) - std::min(where.disk, sandboxes_.store().disk(where.owner));
    request.limits.workspace_size =
        std::max<std::uint64_t>(1, config_.sandbox_disk_quota - std::min(elsewhere, config_.sandbox_disk_quota));
    if (in_image(where)) {
        request.image = where.image;  // its own PATH is added to there
        request.environment = {{"LANG", "C.UTF-8"}, {"NODE_PATH", home + "/node_modules"}};
        return request;
    }
    join_cell(request, where);
    request.environment = {{"PATH", home + "/.local/bin:" + home + "/node_modules/.bin:/usr/local/bin:/usr/bin:/bin"},
                           {"NODE_PATH", home + "/node_modules"}};
    return request;
}

// The limits are those of all that goes on in the cell, so every run asks for the same.
void sandbox_runner::join_cell(sandbox::run_request& request, const sandbox_record& where) const
{
    request.cell = sandboxes_.cells().name_of(where);
    if (request.cell.empty()) return;
    request.limits.process_memory = config_.memory_limit;
    request.limits.memory = config_.memory_limit + config_.kernel_memory_limit;
    request.limits.cpu = std::chrono::ceil<std::chrono::seconds>(config_.kernel_cpu_limit);  // of a server, too
}

awaitable<sandbox_outcome> sandbox_runner::python(caller who, request_io& io, sandbox_record where, std::string code,
                                                  run_options options)
{
    check_source("code", code);
    auto request = base(where);
    run_python(request, python_home::sandbox, interpreter(where), std::move(code));
    request.limits.wall = python_terms_.time(options);
    return run(std::move(who), io, std::move(where), std::move(request), std::move(options));
}

awaitable<sandbox_outcome> sandbox_runner::command(caller who, request_io& io, sandbox_record where, std::string text,
                                                   run_options options)
{
    check_source("command", text);
    auto request = base(where);
    if (in_image(where))
        run_in_shell_of_image(request, std::move(text));
    else
        run_in_bash(request, std::move(text));
    add_python_variables(request, python_home::sandbox);
    request.limits.wall = command_terms_.time(options);
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
        request.argv = {"/bin/sh", "-c", language_script(of, program)};
        request.script = std::move(source);
        add_python_variables(request, python_home::sandbox);
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

awaitable<sandbox_outcome> sandbox_runner::code(caller who, request_io& io, sandbox_record where, std::string source,
                                                std::string language, run_options options)
{
    check_source("code", source);
    const auto* known = find_language(language);
    if (known == nullptr)
        throw sandbox_error("InvalidArgument",
                            "Unsupported language: " + language.substr(0, 60) + ". " + languages_->sentence());
    const std::string program = in_image(where) ? std::string() : languages_->program(*known);
    if (program.empty() && !in_image(where))
        throw sandbox_error("InvalidArgument", "Nothing that runs " + std::string(known->name) + " is installed (" +
                                                   std::string(known->programs) + "). " + languages_->sentence());
    auto request = program_request(where, *known, program, std::move(source));
    request.limits.wall = python_terms_.time(options);
    return run(std::move(who), io, std::move(where), std::move(request), std::move(options));
}

awaitable<sandbox_outcome> sandbox_runner::run(caller who, request_io& io, sandbox_record where,
                                               sandbox::run_request request, run_options options)
{
    auto running = runs_.run(std::move(who), io, std::move(request), std::move(options));
    auto work = scanned(where, std::move(running));
    return guarded(std::move(where), std::move(work));
}

awaitable<run_admission::place> sandbox_runner::admit(caller who, request_io& io, bool background) const
{
    auto place = co_await runs_.admit(std::move(who), io, background);
    if (!place) throw sandbox_error("Busy", busy_sentence);
    co_return place;
}

awaitable<sandbox_outcome> sandbox_runner::scanned(sandbox_record where, awaitable<run_outcome> work)
{
    const auto workspace = sandboxes_.places().workspace(where.id);
    auto look = scan_tree(workspace);
    auto before = co_await pool_.run_long(where.owner, std::move(look));
    sandbox_outcome outcome;
    outcome.run = co_await std::move(work);
    name_quota(outcome.run.end.detail);
    outcome.run.note = sandboxes_.cells().loss_before(where, outcome.run.end);
    auto look_again = scan_tree(workspace);
    auto after = co_await pool_.run_long(where.owner, std::move(look_again));
    auto compare = [before = std::move(before), after = std::move(after)] {
        return changed_files(before, after, most_named_files);
    };
    outcome.files = co_await pool_.run(where.owner, std::move(compare));
    if (!outcome.run.output_path.empty())
        outcome.run.output_uri = "sandbox://" + where.id + "/" + outcome.run.output_path;
    outcome.where = std::move(where);
    co_return outcome;
}

}  // namespace cmcp
