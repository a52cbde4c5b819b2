#pragma once

#include "async/recent.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/call_facts.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct tool_result;

/// A run that ended otherwise than by its own exit, or was refused something.
struct bad_end {
    double at = 0;  ///< seconds since 1970
    std::string principal;
    std::string tool;
    std::string first_line;
    std::string sandbox;  ///< id or name; empty: none
    std::string cause;
    std::string sentence;             ///< for people; may be empty
    std::vector<std::string> denied;  ///< as in sandbox::run_result
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

/// The memory of calls that have ended: totals by principal, and the latest bad ends. Bounded. Io thread only.
class call_history {
public:
    static constexpr std::size_t most_ends = 200;
    static constexpr std::size_t most_principals = 10'000;  ///< calls of further ones are not counted

    void count(std::string_view principal, bool failed);

    /// A run whose result is known. The call is described only where the end was a bad one.
    template <class Describe>
    void note_run(std::string_view principal, const json::object& structured, Describe describe)
    {
        add_cpu(principal, structured);
        if (is_bad(structured)) keep(describe(), structured);
    }

    const recent<bad_end>& ends() const { return ends_; }
    const std::map<std::string, call_totals, std::less<>>& totals() const { return totals_; }

private:
    static bool is_bad(const json::object& structured);
    void add_cpu(std::string_view principal, const json::object& structured);
    void keep(noted_call call, const json::object& structured);
    call_totals* totals_of(std::string_view principal);

    recent<bad_end> ends_{most_ends};
    std::map<std::string, call_totals, std::less<>> totals_;
};

/// The first line of the code, command or other main argument of a call, at most 120 characters.
std::string first_line_of(const json::object& arguments);

}  // namespace cmcp
