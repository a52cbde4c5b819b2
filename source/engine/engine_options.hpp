#pragma once

#include "engine/engine_address.hpp"
#include "text/random_id.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cmcp::engine {

/// The settings of an engine backend.
struct engine_options {
    engine_address where;
    std::string runtime;  ///< for example runsc; empty: the engine's own
    std::string node;     ///< this server's name, for the labels
    std::string root;  ///< SANDBOX_ROOT, absolute, for the labels; folders of runs are made in `root`/engine/`server`
    std::string server = random_id();  ///< of this process
    std::string required =
        "no_new_privs capabilities seccomp no_network limits";  ///< layers without which nothing runs
    std::vector<std::string> images;  ///< that may be asked for; probe() tries the first that there is
};

}  // namespace cmcp::engine
