#pragma once

#include "local/file_rules.hpp"

#include <sys/types.h>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// What a root folder for one program of `container-mcp run` shows.
struct local_root_plan {
    const file_rules* rules = nullptr;
    std::string working;      ///< the working folder
    bool guards_proc = true;  ///< the user outside is root, who may write to files of /proc
};

struct local_root {
    std::vector<dev_t> own_memory;  ///< file systems that only the sandbox sees
    bool has_proc = true;           ///< false: a container forbids it
};

/// In the first process of new namespaces, with its capabilities: makes the machine's folders as the rules show them
/// its root, and enters the working folder. Throws step_failed.
local_root enter_local_root(const local_root_plan& plan);

/// Where the resolver of the sandbox listens (resolv.conf).
inline constexpr const char* local_resolver = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";

}  // namespace cmcp::sandbox
