#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "shells/shell_process.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

struct sandbox_settings;

/// A place in the output of a shell, and whether the shell goes on.
struct shell_view {
    std::string id;
    std::uint64_t cursor = 0;  ///< the end of its output
    bool running = true;
    std::optional<sandbox::run_result> end{};  ///< once it has ended
    std::string note{};                        ///< what may not have been typed as it is
};

/// What a client attaches to.
struct shell_program {
    std::vector<std::string> argv{};  ///< empty: bash
    bool terminal = true;
    sandbox::terminal_size size{};
};

/// A wish to read a shell. Without wait_for and pattern the answer comes once the output has been quiet for `quiet`.
struct shell_wish {
    std::optional<std::uint64_t> cursor;  ///< none: the end of the latest answer
    std::string wait_for;                 ///< text that the output must show; empty: none
    std::string pattern;                  ///< or a regular expression
    std::chrono::milliseconds quiet{300};
    std::chrono::milliseconds timeout{10'000};
    std::size_t max_output = default_max_output;  ///< bytes
    bool raw = false;                             ///< the bytes as they are, control sequences included
    bool screen = false;                          ///< what the terminal shows, in place of the output
};

struct shell_answer : shell_view {
    std::string text;                               ///< `cursor` is where it ends
    std::uint64_t lost = 0;                         ///< bytes that had fallen off before its beginning
    bool more = false;                              ///< more output is there already
    bool matched = true;                            ///< false: neither text nor pattern came in time
    std::size_t cursor_row = 0, cursor_column = 0;  ///< on the screen, from 1 on; 0: it was not wanted
};

/// Shells with a terminal, for the callers who opened them. A shell ends by itself, with its sandbox, or unused. Throws
/// sandbox_error; a foreign shell and one that never was are the same NotFound. Io thread only.
class shell_manager {
public:
    struct shell;

    shell_manager(const sandbox_settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                  sandbox_runner& runs, blocking_pool& pool);
    ~shell_manager();

    awaitable<shell_view> open(caller who, request_io& io, sandbox_record where, sandbox::terminal_size size);

    /// The view is of the moment before the keys were typed, so the output behind its cursor answers them. `names` are
    /// those of shell_keys.hpp, typed after `text`.
    awaitable<shell_view> send(caller who, std::string id, std::string text, std::vector<std::string> names);
    shell_view resize(const caller& who, const std::string& id, sandbox::terminal_size size);
    awaitable<shell_answer> read(caller who, std::string id, shell_wish wish);
    awaitable<shell_view> close(caller who, std::string id);  ///< forgets it

    /// A shell or another program that its opener alone uses, without keeping its output. release() must follow. One
    /// without a terminal goes on however long it is silent.
    awaitable<std::shared_ptr<shell>> attach(caller who, sandbox_record where, shell_program program);
    static shell_process& process_of(shell& of);
    static void touch(shell& used);
    void release(std::shared_ptr<shell> used);

    awaitable<> end_all(std::string sandbox);  ///< the sandbox stops being used
    awaitable<> stop();

    std::size_t living() const;

    /// A shell that lives.
    struct summary {
        std::string id;
        std::string owner;
        std::string sandbox;
        std::string newest;  ///< output, as plain text; empty where its opener alone reads it
        double started = 0;  ///< seconds since 1970
    };
    std::vector<summary> list(std::size_t most_output) const;
    bool end_shell(const std::string& id);  ///< of any owner; false: there is none

private:
    using shells = std::map<std::string, std::shared_ptr<shell>>;

    std::shared_ptr<shell> find(const caller& who, const std::string& id) const;
    void make_room(const std::string& owner);
    sandbox::run_request request_for(const sandbox_record& where, const shell_program& program) const;
    awaitable<std::shared_ptr<shell>> begin(caller who, sandbox_record where, shell_program program);
    awaitable<> keep_output(std::shared_ptr<shell> one);
    awaitable<> watch(std::shared_ptr<shell> one);
    awaitable<> end(std::shared_ptr<shell> one);
    template <class T>
    awaitable<T> within(std::shared_ptr<shell> one, awaitable<T> work);
    static void note_size(shell& of, sandbox::terminal_size size);
    awaitable<> fill(std::shared_ptr<shell> one, shell_answer& answer, std::uint64_t from, const shell_wish& wish);
    awaitable<> show_screen(std::shared_ptr<shell> one, shell_answer& answer, std::size_t most);
    awaitable<std::string> type(std::shared_ptr<shell> one, std::string text, std::vector<std::string> names);
    awaitable<> await_prompt(std::shared_ptr<shell> one);
    awaitable<> await_next_prompt(std::shared_ptr<shell> one, std::uint64_t prompts);
    awaitable<shell_answer> await_answer(std::shared_ptr<shell> one, shell_wish wish);
    awaitable<bool> shows(std::shared_ptr<shell> one, const shell_wish& wish, std::uint64_t from);
    awaitable<bool> fits(std::string owner, std::string text, std::string pattern);

    const sandbox_settings& config_;
    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    blocking_pool& pool_;
    shells shells_;
    task_group tasks_;
};

}  // namespace cmcp
