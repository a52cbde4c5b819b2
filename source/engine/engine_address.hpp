#pragma once

#include <string>

namespace cmcp::engine {

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

}  // namespace cmcp::engine
