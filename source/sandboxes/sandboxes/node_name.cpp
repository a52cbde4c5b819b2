#include "sandboxes/node_name.hpp"

#include "config/settings.hpp"
#include "log/log.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/handles.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cmcp {

namespace {

constexpr std::size_t shortest_container_id = 12;

std::string host_name()
{
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    return name.data();
}

// Docker and Podman name a container after the beginning of its id.
bool is_container_id(const std::string& name)
{
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return name.size() >= shortest_container_id && std::all_of(name.begin(), name.end(), hex);
}

std::string new_name()
{
    const auto host = host_name();
    const bool lasts = !host.empty() && !is_container_id(host);
    return handle_maker::cleaned(lasts ? host : "node-" + random_id().substr(0, 8));
}

std::string read_name(const std::filesystem::path& file)
{
    const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    std::array<char, 64> text{};
    const auto size = opened ? ::read(opened.get(), text.data(), text.size()) : -1;
    std::string name(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
    return name.empty() ? name : handle_maker::cleaned(name);
}

// Whole or not at all, and never in place of the name that another server has just written.
bool keep_name(const std::filesystem::path& file, const std::string& name)
{
    const auto draft = file.string() + "." + random_id().substr(0, 8);
    unique_fd draft_file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const bool written = draft_file && write_all(draft_file.get(), name + "\n");
    const bool kept = written && ::link(draft.c_str(), file.c_str()) == 0;
    const int problem = errno;
    if (draft_file) ::unlink(draft.c_str());
    errno = problem;
    return kept;
}

}  // namespace

std::string node_name(const settings& config)
{
    if (!config.sandbox_node.empty()) return config.sandbox_node;
    const auto file = std::filesystem::absolute(config.sandbox_root).lexically_normal() / "node";
    if (auto kept = read_name(file); !kept.empty()) return kept;
    auto name = new_name();
    if (keep_name(file, name)) return name;
    if (errno == EEXIST) {
        if (auto kept = read_name(file); !kept.empty()) return kept;
        ::unlink(file.c_str());  // the file holds no name
        if (keep_name(file, name)) return name;
    }
    log::warning("node_name_not_kept",
                 {{"node", name},
                  {"reason", std::strerror(errno)},
                  {"advice", "handles name another machine after the next start: set SANDBOX_NODE"}});
    return name;
}

}  // namespace cmcp
