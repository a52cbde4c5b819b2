#pragma once

#include "identity/key_order.hpp"

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// The store of keys, links and quotas, made where there is none.
identity_store open_identities(const settings& config);

}  // namespace cmcp::command
