#include "images/tree_manifest.hpp"

#include "images/image.hpp"
#include "posix/unique_fd.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace cmcp {
namespace {

namespace fs = std::filesystem;

constexpr mode_t for_all_to_read = 0644, for_all_to_execute = 0755;
constexpr std::size_t most_differences = 20;

struct stat status_of(const fs::path& path)
{
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) throw_errno(path);
    return status;
}

void remove_attributes(const fs::path& path)
{
    std::string names(64 * 1024, '\0');
    const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
    if (length < 0 && errno == ENOTSUP) return;
    if (length < 0) throw_errno(path);
    names.resize(static_cast<std::size_t>(length));
    for (const auto name : split(names, '\0'))
        if (!name.empty() && name != "security.selinux" &&
            ::lremovexattr(path.c_str(), std::string(name).c_str()) != 0 && errno != ENODATA && errno != EPERM &&
            errno != ENOTSUP)
            throw_errno(path);
}

bool is_kept(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode); }

void settle(const fs::path& path, mode_t mode)
{
    remove_attributes(path);
    if (S_ISLNK(mode)) return;
    const bool executable = S_ISDIR(mode) || (mode & 0111) != 0;
    if (::chmod(path.c_str(), executable ? for_all_to_execute : for_all_to_read) != 0) throw_errno(path);
}

std::string hash_of(const fs::path& path, std::size_t size)
{
    if (size == 0) return sha256_hex({});
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) throw_errno(path);
    void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (bytes == MAP_FAILED) throw_errno(path);
    std::string hash = sha256_hex(std::string_view(static_cast<const char*>(bytes), size));
    ::munmap(bytes, size);
    return hash;
}

bool plain_in_manifest(unsigned char c) { return c > ' ' && c < 0x7f && c != '%'; }

std::string facts_of(const fs::path& path, const struct stat& status)
{
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777u);
    if (S_ISLNK(status.st_mode)) return "link " + percent_encoded(fs::read_symlink(path).string(), plain_in_manifest);
    if (S_ISDIR(status.st_mode)) return std::string("folder ") + mode;
    if (!S_ISREG(status.st_mode)) return std::string("special ") + mode;
    return std::string("file ") + mode + " " + hash_of(path, static_cast<std::size_t>(status.st_size));
}

void copy_file(const fs::path& from, const fs::path& to, mode_t mode)
{
    fs::copy_file(from, to);
    if (::chmod(to.c_str(), mode & 0777) != 0) throw_errno(to);
}

}  // namespace

tree_size settle_tree(const fs::path& root)
{
    tree_size size;
    std::vector<fs::path> unwanted;
    std::set<ino_t> several_names;
    settle(root, status_of(root).st_mode);
    for (fs::recursive_directory_iterator at(root), end; at != end; ++at) {
        const struct stat status = status_of(at->path());
        if (!is_kept(status.st_mode)) {
            unwanted.push_back(at->path());
            continue;
        }
        settle(at->path(), status.st_mode);
        ++size.files;
        const bool again =
            S_ISREG(status.st_mode) && status.st_nlink > 1 && !several_names.insert(status.st_ino).second;
        if (!again) size.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    for (const auto& path : unwanted) fs::remove(path);
    return size;
}

tree_manifest describe_tree(const fs::path& root)
{
    tree_manifest all;
    const std::size_t above = root.native().size() + 1;
    for (fs::recursive_directory_iterator at(root), end; at != end; ++at)
        all.emplace(percent_encoded(at->path().native().substr(above), plain_in_manifest),
                    facts_of(at->path(), status_of(at->path())));
    return all;
}

std::string manifest_text(const tree_manifest& manifest)
{
    std::string text;
    for (const auto& [path, facts] : manifest) text += path + ' ' + facts + '\n';
    return text;
}

tree_manifest read_manifest(const std::string& text)
{
    tree_manifest manifest;
    for (const auto line : split(text, '\n'))
        if (const auto space = line.find(' '); space != std::string_view::npos)
            manifest.emplace(line.substr(0, space), line.substr(space + 1));
    return manifest;
}

std::vector<std::string> differences(const tree_manifest& before, const tree_manifest& now)
{
    std::vector<std::string> all;
    for (const auto& [path, facts] : before) {
        const auto there = now.find(path);
        if (there == now.end())
            all.push_back("missing: /" + path);
        else if (there->second != facts)
            all.push_back("changed: /" + path + " (" + facts + " is now " + there->second + ")");
    }
    for (const auto& [path, facts] : now)
        if (!before.contains(path)) all.push_back("added: /" + path);
    if (all.size() <= most_differences) return all;
    const std::string rest = "and " + std::to_string(all.size() - most_differences) + " more";
    all.resize(most_differences);
    all.push_back(rest);
    return all;
}

void copy_tree(const fs::path& from, const fs::path& to, std::uint64_t most)
{
    if (to.native().starts_with((from / "").native()))
        throw image_error(from.string() +
                          " holds the store of images itself: name a folder that is a root of its own.");
    fs::create_directory(to);
    const dev_t device = status_of(from).st_dev;
    std::uint64_t bytes = 0;
    for (fs::recursive_directory_iterator at(from), end; at != end; ++at) {
        const struct stat status = status_of(at->path());
        const fs::path place = to / at->path().lexically_relative(from);
        if (S_ISDIR(status.st_mode)) fs::create_directory(place);
        if (S_ISDIR(status.st_mode) && status.st_dev != device) at.disable_recursion_pending();
        if (S_ISLNK(status.st_mode)) fs::copy_symlink(at->path(), place);
        if (!S_ISREG(status.st_mode)) continue;
        bytes += static_cast<std::uint64_t>(status.st_size);
        if (bytes > most)
            throw image_error("The image is larger than SANDBOX_IMAGE_MAX_MB allows (" + std::to_string(most >> 20) +
                              "); nothing was added.");
        copy_file(at->path(), place, status.st_mode);
    }
}

}  // namespace cmcp
