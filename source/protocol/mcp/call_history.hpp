#pragma once

#include "async/recent.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/call_facts.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct tool_result;

/// A call that failed: its run did not exit with 0, was refused something, or its tool could not do it.
struct bad_end {
    double at = 0;  ///< seconds since 1970
    std::string principal;
    std::string tool;
    std::string first_line;
    std::string sandbox;  ///< id or name; empty: none
    std::string cause;    ///< of the run's end, else the type of the tool's error
    std::optional<std::int64_t> exit_code{};
    std::string sentence;             ///< for people; may be empty
    std::string last_lines;           ///< that the run printed, its errors where there are some
    std::vector<std::string> denied;  ///< as in sandbox::run_result
};

/// A call that used or changed a sandbox, as the history of the sandbox has it. One that only looked is not kept.
struct past_call {
    double at = 0;  ///< seconds since 1970, of its end
    double seconds = 0;
    std::string principal;
    std::string tool;
    std::string sandbox;  ///< id or name; empty: the default one
    std::string input;    ///< code, command, path or the like, or all arguments as JSON
    std::string output;   ///< what it printed, or its result as JSON; the last part of it
    std::string cause;    ///< as in bad_end; empty: it was no run, and did not fail
    std::optional<std::int64_t> exit_code{};
    bool failed = false;
};

/// The calls of a principal since the start.
struct call_totals {
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    double cpu_seconds = 0;  ///< of its runs that have ended
};

/// The description of a call, for bad_end.
struct noted_call {
    std::string principal;
    std::string tool;
    std::string first_line;
    std::string sandbox;
};

/// The memory of calls that have ended: totals by principal, the latest that failed, and the latest about sandboxes.
/// Bounded: some 6 MB at most. Io thread only.
class call_history {
public:
    static constexpr std::size_t most_ends = 200;
    static constexpr std::size_t most_calls = 1000;
    static constexpr std::size_t longest_input = 2048;
    static constexpr std::size_t longest_output = 4096;
    static constexpr std::size_t most_principals = 10'000;  ///< calls of further ones are not counted

    void count(std::string_view principal, bool failed);

    /// A call whose result is known. It is described only where it failed.
    template <class Describe>
    void note_end(std::string_view principal, const tool_result& result, Describe describe)
    {
        add_cpu(principal, result);
        if (is_bad(result)) keep(describe(), result);
    }

    /// `call` has all but what `result` says.
    void note_call(past_call call, const tool_result& result);

    const recent<bad_end>& ends() const { return ends_; }
    const recent<past_call>& calls() const { return calls_; }
    std::uint64_t count() const { return count_; }  ///< of all calls
    const std::map<std::string, call_totals, std::less<>>& totals() const { return totals_; }

private:
    static bool is_bad(const tool_result& result);
    void add_cpu(std::string_view principal, const tool_result& result);
    void keep(noted_call call, const tool_result& result);
    call_totals* totals_of(std::string_view principal);

    recent<bad_end> ends_{most_ends};
    recent<past_call> calls_{most_calls};
    std::uint64_t count_ = 0;
    std::map<std::string, call_totals, std::less<>> totals_;
};

/// The first line of the code, command or other main argument of a call, at most 120 characters.
std::string first_line_of(const json::object& arguments);

/// The whole of that argument, or all arguments as JSON where there is none, as far as past_call has room.
std::string input_of(const json::object& arguments);

}  // namespace cmcp
