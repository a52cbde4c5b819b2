#pragma once

#include "text/random_id.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp::engine {

/// The engine did not do what it was asked for. what() is a sentence.
struct engine_error : std::runtime_error {
    engine_error(int status_, const std::string& sentence) : std::runtime_error(sentence), status(status_) {}

    int status;  ///< HTTP status of its answer; 0: it gave none
};

/// Where an engine listens and what to do when it does not.
struct engine_address {
    std::string socket;  ///< path; empty: no engine is wanted
    std::string advice;  ///< a sentence: what to start
};

/// `setting`: none, podman, docker, or the path of a socket. As root the engine of the system is meant, else the user's
/// own Podman (under `runtime_folder`, which is XDG_RUNTIME_DIR or /run/user/<uid>).
engine_address find_engine(const std::string& setting, bool as_root, const std::string& runtime_folder);

/// The same for this process.
engine_address find_engine(const std::string& setting);

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
