#pragma once

#include <string>

namespace cmcp::container {

/// The system calls that the server, its launcher and its runs need inside a container, as an OCI runtime reads them
/// (runtime-spec, "Seccomp"). What runs may call comes from the sandbox's own table.
std::string seccomp_profile();

}  // namespace cmcp::container
