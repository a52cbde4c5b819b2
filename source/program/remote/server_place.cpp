#include "remote/server_place.hpp"

#include "config/config_error.hpp"
#include "config/server_settings.hpp"
#include "config/web_settings.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cmcp::command {

std::string server_place::why_unreachable(int error) const
{
    if (socket.empty()) return name + " is not reached: " + std::strerror(error);
    if (error == EACCES || error == EPERM) return name + " belongs to another user: run this as that user, or as root";
    if (error == ENAMETOOLONG) return name + " has too long a path for a socket: set SANDBOX_ROOT to a shorter one";
    if (error == ENOENT || error == ECONNREFUSED)
        return "no server runs for " + name.substr(name.find("SANDBOX_ROOT")) +
               ": start it with `container-mcp serve`, or name the folder of the one that runs with --sandbox-root";
    return name + " does not answer: " + std::strerror(error);
}

std::string socket_path(const server_settings& config, std::string_view name)
{
    return (std::filesystem::absolute(config.sandbox_root).lexically_normal() / name).string();
}

server_place own_server(const server_settings& config)
{
    server_place place;
    place.socket = socket_path(config, "admin.sock");
    place.name = "the server of SANDBOX_ROOT=" + config.sandbox_root.string();
    return place;
}

server_place server_at(const web_settings& config, const std::string& address, const std::string& token)
{
    server_place place;
    try {
        place.url = web_url::parse(address);
    } catch (const bad_url& reason) {
        throw config_error("--server: " + std::string(reason.what()));
    }
    auto& target = place.url->target;
    target.erase(std::min(target.find('?'), target.size()));
    while (target.ends_with('/')) target.pop_back();
    if (target.ends_with("/mcp")) target.erase(target.size() - 4);
    const bool plain = std::ranges::all_of(token, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
    if (!plain)
        throw config_error("the token for --server must be visible characters, as `container-mcp key create` shows it");
    place.token = token;
    place.extra_ca = config.web_ca_file;
    place.name = "the server at " + place.url->origin();
    return place;
}

}  // namespace cmcp::command
