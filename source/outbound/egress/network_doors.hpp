#pragma once

#include "async/task_group.hpp"
#include "egress/egress_guard.hpp"
#include "posix/unique_fd.hpp"

#include <memory>
#include <vector>

namespace cmcp {

/// Serves the sockets of a sandbox's own network (jail/doors.hpp) until the group cancels that: the resolver, the
/// proxy, and the ports of names. The guard must outlive the group. Fewer are left alone. Throws
/// boost::system::system_error.
void serve_network_doors(egress_guard& guard, task_group& tasks, std::vector<unique_fd> doors,
                         std::shared_ptr<name_addresses> names, egress_guard::holder of);

}  // namespace cmcp
