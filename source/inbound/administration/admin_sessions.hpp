#pragma once

#include "administration/admin_gateway.hpp"
#include "transport/session_store.hpp"

#include <string_view>

namespace cmcp {

/// {"sessions", "total"}: those that the viewer sees, latest used first, at most 1000.
json::object sessions_of(const session_store& store, const admin_viewer& by);

/// Ends the session of this tag; false: the viewer sees none.
bool end_session(session_store& store, const admin_viewer& by, std::string_view tag);

}  // namespace cmcp
