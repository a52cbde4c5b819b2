#pragma once

#include "wire/run_request.hpp"

#include <string>
#include <vector>

namespace cmcp::engine {

/// The command of a container: /bin/sh looks whether the layers that are `required` (words out of no_new_privs,
/// capabilities, seccomp, no_network, limits) are in force, and starts nothing when one is not (`lacks NAME`). It
/// starts the request's own program as its child with what containers have no way to be given (descriptors 3 and 4, a
/// channel) and afterwards writes down how it ended and what the container's cgroup counted, with `memory` the limit in
/// bytes that must be found there: `code N`, then lines of /sys/fs/cgroup files after their names
/// (container_report.hpp).
std::vector<std::string> container_command(const sandbox::run_request& request, const std::string& required,
                                           std::uint64_t memory);

}  // namespace cmcp::engine
