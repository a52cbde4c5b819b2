#include "images/image.hpp"

#include "posix/unique_fd.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

namespace cmcp {
namespace {

constexpr std::size_t longest_name = 200;

bool is_executable_inside(int root, const std::string& path)
{
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const unique_fd file(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
    struct stat status {};
    return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IXOTH) != 0;
}

bool fits_in_a_name(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._-/:@").find(c) != std::string::npos;
}

}  // namespace

std::string image::search_path() const
{
    for (const auto& [name, value] : environment)
        if (name == "PATH" && !value.empty()) return value;
    return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

std::optional<std::string> image::find_program(std::string_view name) const
{
    const unique_fd opened(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return std::nullopt;
    const std::string folders = search_path();
    for (const auto folder : split(folders, ':')) {
        std::string path = std::string(folder) + "/" + std::string(name);
        if (folder.starts_with('/') && is_executable_inside(opened.get(), path)) return path;
    }
    return std::nullopt;
}

std::string image_name(std::string_view text)
{
    const bool plain = !text.empty() && text.size() <= longest_name &&
                       std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
                       std::all_of(text.begin(), text.end(), fits_in_a_name) && text.back() != '/' &&
                       text.back() != ':' && text.back() != '@';
    if (!plain)
        throw image_error("\"" + std::string(text.substr(0, longest_name)) +
                          "\" is no name of an image: use letters, digits and ._-/ with a tag behind ':', for example "
                          "python:3.12-slim.");
    const auto last = text.substr(text.rfind('/') + 1);
    const bool tagged = last.find(':') != std::string_view::npos || last.find('@') != std::string_view::npos;
    return std::string(text) + (tagged ? "" : ":latest");
}

std::optional<std::string> image_digest(std::string_view text)
{
    constexpr std::string_view beginning = "sha256:";
    if (text.starts_with(beginning)) text.remove_prefix(beginning.size());
    return is_sha256_hex(text) ? std::optional(std::string(text)) : std::nullopt;
}

void throw_errno(const std::filesystem::path& what)
{
    throw std::system_error(errno, std::generic_category(), what.string());
}

std::string command_to_add(const std::string& name) { return "container-mcp image add docker://" + name; }

}  // namespace cmcp
