#include "engine/engine_options.hpp"

#include <cstdlib>

#include <unistd.h>

namespace cmcp::engine {

engine_address find_engine(const std::string& setting, bool as_root, const std::string& runtime_folder)
{
    if (setting.empty() || setting == "none") return {};
    if (setting == "docker")
        return {"/run/docker.sock",
                "Start it with `systemctl start docker` and let this user open the socket (group docker)."};
    if (setting != "podman")
        return {setting, "Start it so that it listens there, for example with `podman system service --time 0 unix://" +
                             setting + "`."};
    if (as_root)
        return {"/run/podman/podman.sock",
                "Start it with `systemctl start podman.socket`, or with `podman system service --time 0`."};
    return {runtime_folder + "/podman/podman.sock",
            "Start it with `systemctl --user start podman.socket`, or with `podman system service --time 0`."};
}

engine_address find_engine(const std::string& setting)
{
    const char* const folder = std::getenv("XDG_RUNTIME_DIR");
    const std::string runtime =
        folder != nullptr && *folder != '\0' ? folder : "/run/user/" + std::to_string(::geteuid());
    return find_engine(setting, ::geteuid() == 0, runtime);
}

}  // namespace cmcp::engine
