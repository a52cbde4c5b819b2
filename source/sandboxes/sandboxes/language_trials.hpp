#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// How code of one language is run: one row of the table.
struct language {
    std::string_view name;      ///< "c++"
    std::string_view aliases;   ///< further names, separated by spaces
    std::string_view programs;  ///< programs that may run it, the preferred first, separated by spaces
    std::string_view file;      ///< the name of the code's file, in a folder of its own
    /// Shell text; $P is the program, $F the file; the working folder is the sandbox's. Python runs another way: empty.
    std::string_view command;
    std::string_view sample;  ///< a program that prints "ok"
};

/// Every language that is known, in the order of the documents.
const std::vector<language>& all_languages();

/// By name or alias, whatever the case; null when it is unknown.
const language* find_language(std::string_view name);

/// Those of its programs that this machine has, as absolute paths inside the sandbox, and the first of them or nothing.
std::vector<std::string> installed_programs(const language& of);
std::string installed_program(const language& of);

/// Shell text that reads the code from descriptor 3 and runs it by `program`, a path inside.
std::string language_script(const language& of, const std::string& program);

/// Which languages run in a sandbox of this machine. Each program that is installed is tried once, with a program that
/// prints a word. The results are kept in a file, so a program is tried again only when it or the server has changed.
/// All calls on the io thread.
class language_trials {
public:
    /// Makes the run of `source` by `program`, without a workspace.
    using run_maker =
        std::function<sandbox::run_request(const language& of, const std::string& program, std::string source)>;

    struct parts {
        asio::any_io_executor executor;
        sandbox::backend& backend;
        run_admission& admission;
        blocking_pool& pool;
        std::filesystem::path file;  ///< where results are kept
        run_maker maker;
    };

    /// `table` must outlive this.
    explicit language_trials(parts used, const std::vector<language>& table = all_languages());

    void start();       ///< tries unknown programs, one after the other, in the background
    awaitable<> run();  ///< the same, until all is known
    awaitable<> stop();

    awaitable<> wait_until_complete(event::clock::duration limit);  ///< at once where start() was not called

    std::vector<std::string> working() const;    ///< the names of those that ran
    std::string sentence() const;                ///< "Languages here: python, bash."
    bool complete() const { return complete_; }  ///< every installed program was tried
    /// The program that ran; of a language that was not tried, or that does not run, the first that is installed; or
    /// none.
    std::string program(const language& of) const;

    /// Called when sentence() has changed.
    void on_change(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }

private:
    struct result {
        std::string mark;     ///< of the programs, as they were when they were tried
        std::string program;  ///< the one that ran; empty: none
        std::string needs;    ///< in a sentence what is missing, where the program said so
    };

    awaitable<> read_file();
    awaitable<> write_file();
    awaitable<> try_language(const language& of, std::string mark);
    awaitable<bool> runs(const language& of, std::string program, result& outcome, bool& sure);
    void tell();

    parts used_;
    const std::vector<language>& table_;
    std::map<std::string, result, std::less<>> results_;  ///< by name
    std::map<std::string, result, std::less<>> kept_;     ///< of an earlier start
    std::vector<std::function<void()>> listeners_;
    bool running_ = false;
    bool complete_ = false;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp
