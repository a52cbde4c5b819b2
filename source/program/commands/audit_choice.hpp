#pragma once

#include "commands/commands.hpp"

#include <string>
#include <string_view>

namespace cmcp::command {

/// A choice among records, by the words of a person.
class audit_choice {
public:
    /// Throws config_error with a sentence.
    explicit audit_choice(const audit_line& line);

    /// `record` is a line of the audit without its newline.
    bool takes(std::string_view record) const;

    /// Whether a file whose next file begins at this time can hold records of the choice.
    bool may_be_before(std::string_view time) const { return since_.empty() || time >= since_; }

private:
    std::string since_, until_;  // as times of records begin; empty: any
    std::string principal_, kind_;
    bool any_principal_, any_kind_;
};

/// A time as those of records begin: "2026-11-24", "2026-11-24T10:30", "2026-11-24T10:30:00Z" in UTC, or so long ago:
/// "90m", "12h", "7d". Throws config_error.
std::string audit_time(std::string_view text);

}  // namespace cmcp::command
