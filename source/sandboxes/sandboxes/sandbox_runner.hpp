#pragma once

#include "files/trees.hpp"
#include "runs/runner.hpp"
#include "sandboxes/call_line.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

class language_trials;
struct language;
struct settings;

/// The end of a run in a sandbox and the files that it made or changed (paths relative to the working folder).
struct sandbox_outcome {
    run_outcome run;
    sandbox_record where;
    changed_paths files;
    std::uint64_t grown_to = 0;  ///< bytes that its files take now; 0: no more than before
};

/// The end of a program that lasts, as that of its last call: what was refused to it before may have been an earlier
/// call's.
sandbox::run_result end_of_last_call(sandbox::run_result of_program);

/// Runs programs in sandboxes that last, with their own files and packages. Throws sandbox_error. Everything given to
/// the constructor must outlive it.
class sandbox_runner {
public:
    sandbox_runner(const settings& config, sandbox_manager& sandboxes, runner runs, blocking_pool& pool);

    awaitable<sandbox_outcome> python(caller who, request_io& io, sandbox_record where, std::string code,
                                      run_options options);
    awaitable<sandbox_outcome> command(caller who, request_io& io, sandbox_record where, std::string text,
                                       run_options options);

    /// The program of a service, without limits of time and output.
    sandbox::run_request service(const sandbox_record& where, std::string text) const;

    /// Code of a language of the table; standard output and standard error come together in run.out.
    awaitable<sandbox_outcome> code(caller who, request_io& io, sandbox_record where, std::string source,
                                    std::string language, run_options options);

    /// The run by which a language is tried: confined and limited as code() is, in a folder of its own.
    sandbox::run_request trial(const language& of, const std::string& program, std::string source) const;

    /// The languages of code(); before its first call.
    void use(language_trials& languages) { languages_ = &languages; }

    /// The wall time of a run. Where its caller names none and may be asked about the network, an answer has its time,
    /// too.
    std::chrono::milliseconds time_of(const run_terms& terms, const sandbox_record& where,
                                      const run_options& options) const;

    /// The right of a run to call tools as this caller; it must outlive the run. Empty: the sandbox has none.
    tool_rights::ticket right_for(const sandbox::run_request& request, const caller& who, const std::string& id) const;

    /// The beginning of a run that has the programs of BASH_ALLOWED_COMMANDS alone and no network: the sandbox's files
    /// and where they are inside. run_terms and listed() set the rest.
    sandbox::run_request listed_base(const sandbox_record& where) const;

    /// Runs it in the sandbox's live cell of this shape, in which such runs alone go on. Files that it makes are not
    /// looked for.
    awaitable<run_outcome> listed(caller who, request_io& io, sandbox_record where, std::string shape,
                                  sandbox::run_request request, run_options options);

    /// View, limits, environment and places of every run in a sandbox.
    sandbox::run_request base(const sandbox_record& where) const;

    /// The same in a cell of its own, which has no network, no tools and no secrets.
    sandbox::run_request apart(const sandbox_record& where) const;
    std::string interpreter(const sandbox_record& where) const;  ///< Python, as it is called inside
    static bool in_image(const sandbox_record& where) { return !image_choice::is_native(where.image); }

    /// The absolute path, inside, of a program that the sandbox's image must have; throws NotAvailable. For sandboxes
    /// without an image `native`.
    std::string program(const sandbox_record& where, const char* name, std::string native) const;
    std::string search_path(const sandbox_record& where) const;  ///< PATH, without the sandbox's own folders
    const run_terms& python_terms() const { return python_terms_; }
    const run_terms& command_terms() const { return command_terms_; }
    sandbox_manager& sandboxes() { return sandboxes_; }
    const runner& runs() const { return runs_; }
    blocking_pool& pool() const { return pool_; }

    /// Waits for the turn of a call that uses a `program` that lasts ("kernel"), in the foreground for as long as its
    /// run may take. Then the call waits as a job, and has the time of one; throws sandbox_error (Busy) where it can be
    /// none.
    awaitable<> wait_in_line(call_line::turn& mine, request_io& io, run_options& options, const run_terms& terms,
                             std::string_view program) const;

    /// A place among the runs, or those in the background. Throws sandbox_error (Busy).
    awaitable<run_admission::slot> admit(caller who, request_io& io, bool background) const;

    /// Work in a sandbox: it counts as use, ends with the sandbox, and the disk is measured after it.
    template <class T>
    awaitable<T> guarded(sandbox_record where, awaitable<T> work);

    /// A run with the files that it made or changed.
    awaitable<sandbox_outcome> with_files(sandbox_record where, awaitable<run_outcome> work);

    /// A run in a sandbox, with the files that it made or changed. Its caller may be asked about the sandbox's network.
    awaitable<sandbox_outcome> scanned(caller who, request_io& io, sandbox_record where, awaitable<run_outcome> work);

private:
    sandbox::run_request request_for(const sandbox_record& where, bool beside_others) const;
    void limit_as_cell(sandbox::run_request& request, const sandbox_record& where) const;
    void join_cell(sandbox::run_request& request, const sandbox_record& where) const;
    awaitable<sandbox_outcome> run(caller who, request_io& io, sandbox_record where, sandbox::run_request request,
                                   run_options options);
    awaitable<run_outcome> with_tools(caller who, request_io& io, sandbox_record where, sandbox::run_request request,
                                      run_options options, tool_rights::ticket right);
    void share_cell(sandbox::run_request& request, const sandbox_record& where, std::string shape) const;
    awaitable<run_outcome> listed_here(caller who, request_io& io, sandbox_record where, sandbox::run_request request,
                                       run_options options);
    void run_in_shell(sandbox::run_request& request, const sandbox_record& where, std::string text) const;
    std::string program_of(const sandbox_record& where, const language& of) const;
    sandbox::run_request program_request(const sandbox_record& where, const language& of, const std::string& program,
                                         std::string source) const;

    const settings& config_;
    sandbox_manager& sandboxes_;
    run_terms command_terms_;
    run_terms python_terms_;
    runner runs_;
    blocking_pool& pool_;
    language_trials* languages_ = nullptr;
};

template <class T>
awaitable<T> sandbox_runner::guarded(sandbox_record where, awaitable<T> work)
{
    auto entry = sandboxes_.enter(where);
    T value = co_await sandbox_activities::run(entry, std::move(work));
    sandboxes_.measure_soon(where);
    co_return value;
}

}  // namespace cmcp
