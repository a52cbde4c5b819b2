#pragma once

#include "identity/calling_code.hpp"
#include "identity/scope.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/revision.hpp"

#include <string>

namespace cmcp {

/// The client that asks. The same for all requests of one session; made anew for each request of the stateless era.
struct caller {
    revision protocol = revision::v2025_11_25;
    std::string principal;                ///< authenticated name; empty: the default caller (no authentication)
    scope_set scopes = scope_set::all();  ///< tools that need others are not listed
    std::string profile{};                ///< that its address names (tool_profiles); empty: none
    std::string session;                  ///< session id of the older revisions; empty in the stateless era
    std::string session_tag;              ///< what the log calls it, which is no secret
    std::string address;  ///< of this server as the client reaches it, without a slash at its end; empty: unknown
    bool session_ends =
        false;  ///< on_session_end() tells when; not that of standard input, which goes on in the next process
    calling_code_ptr
        code{};  ///< code in a sandbox calls, for which only its own sandbox is there; null: a client calls
    json::object client_info;
    json::object client_capabilities;
};

/// Whether the caller may use what belongs to this sandbox of its principal.
inline bool may_use(const caller& who, const std::string& sandbox) { return !who.code || may_use(*who.code, sandbox); }

}  // namespace cmcp
