#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cmcp::load {

/// Why a call or an opening failed.
struct failure {
    /// "HTTP 503", "JSON-RPC -32000", "tool error NodeUnreachable", "tool failed", "timeout", …; empty: it did not
    std::string kind;
    std::string text;  ///< what the server said; may be empty
};

/// Failures by kind, with what was said at the first of each.
class failure_counts {
public:
    struct entry {
        std::uint64_t count = 0;
        std::string first_text;
    };

    void add(const failure& one, std::uint64_t times = 1);
    void merge(const failure_counts& other);
    void clear() { kinds_.clear(); }

    bool has(const std::string& kind) const { return kinds_.contains(kind); }
    std::uint64_t sum() const;
    const std::map<std::string, entry>& kinds() const { return kinds_; }

private:
    std::map<std::string, entry> kinds_;
};

/// On one line and short, without control characters: what a server says goes to a terminal.
std::string one_line(std::string_view text);

/// The server's own words for a failure, on one short line. They are the message of a JSON-RPC error, the error or exit
/// code of a tool's result, or the text of an HTTP answer.
std::string failure_text(std::string_view answer);

/// The word for programs in a tool's result, its `error_type`; empty where it has none that is a word.
std::string error_type(std::string_view answer);

}  // namespace cmcp::load
