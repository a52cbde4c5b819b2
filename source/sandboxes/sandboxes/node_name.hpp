#pragma once

#include <string>

namespace cmcp {

struct settings;

/// This machine's name in handles: SANDBOX_NODE, or the name that SANDBOX_ROOT/node holds since the first start. Then
/// it is the host name, or a random one where the host name is a container's id, which the next container has not.
std::string node_name(const settings& config);

}  // namespace cmcp
