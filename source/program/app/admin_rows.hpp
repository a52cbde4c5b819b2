#pragma once

#include "egress/egress_decisions.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/call_history.hpp"
#include "store/job_store.hpp"
#include "store/sandbox_store.hpp"

#include <string>
#include <string_view>

namespace cmcp {

// The objects in which /admin describes an entry; docs/rest.md has their members.

json::object row_of(const sandbox_record& record);  ///< without what goes on in it
json::object row_of(const job_record& record);
json::object row_of(const bad_end& end, const std::string& sandbox_id);
json::object row_of(const past_call& call, const std::string& sandbox_id);
json::object row_of(const egress_decision& decision);

/// The members of a run that all kinds have.
struct run_row {
    std::string id;
    std::string_view kind;
    std::string principal;
    std::string tool{};
    std::string client{};
    std::string session{};
    std::string first_line{};
    std::string output_tail{};
    std::string sandbox{};  ///< id
    bool waits = false;
    double started = 0;  ///< seconds since 1970
};
json::object row_of(const run_row& run, double now);

/// Null where it is empty.
json::value text_or_null(const std::string& text);

/// The first line of a text, at most 120 characters.
std::string first_line(std::string_view text);

/// The setting that would have let a run go on; empty: there is none.
std::string setting_for(const bad_end& end);

/// The setting that would have allowed a connection; empty: it was allowed, or none would.
std::string setting_for(const egress_decision& decision);

}  // namespace cmcp
