#include "sandboxes/sandbox_places.hpp"

#include "files/trees.hpp"
#include "posix/unique_fd.hpp"
#include "sandboxes/installed_packages.hpp"
#include "text/handles.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

namespace fs = std::filesystem;

namespace {

void make_private_folder(const fs::path& place)
{
    if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST)
        throw std::system_error(errno, std::generic_category(), place.string());
}

constexpr std::string_view install_mark = "installing-";

}  // namespace

fs::path sandbox_places::snapshot(std::string_view id, std::string_view snapshot) const
{
    return root_ / id / "snapshots" / snapshot;
}

void sandbox_places::make(std::string_view id) const
{
    make_private_folder(folder(id));
    make_private_folder(workspace(id));
    make_private_folder(folder(id) / "snapshots");
}

bool sandbox_places::exists(std::string_view id) const
{
    std::error_code none;
    return fs::is_directory(workspace(id), none);
}

void sandbox_places::remove(const fs::path& what) const
{
    make_private_folder(trash());
    const fs::path moved = trash() / random_id();
    if (::rename(what.c_str(), moved.c_str()) != 0 && errno == ENOENT) return;
    if (!remove_tree(moved)) ::unlink(moved.c_str());  // a single file
}

void sandbox_places::clear_trash() const
{
    std::error_code none;
    std::vector<fs::path> left;
    for (fs::directory_iterator at(trash(), none), end; !none && at != end; at.increment(none))
        left.push_back(at->path());
    for (const auto& each : left)
        if (!remove_tree(each)) ::unlink(each.c_str());
}

std::string sandbox_places::mark_install(std::string_view id) const
{
    std::string mark = std::string(install_mark) + random_id();
    const fs::path place = folder(id) / mark;
    const unique_fd mark_file(::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!mark_file) throw std::system_error(errno, std::generic_category(), place.string());
    return mark;
}

void sandbox_places::unmark_install(std::string_view id, const std::string& mark) const
{
    ::unlink((folder(id) / mark).c_str());
}

bool sandbox_places::end_marked_installs(std::string_view id) const
{
    std::error_code none;
    std::vector<std::string> marks;
    for (fs::directory_iterator at(folder(id), none), end; !none && at != end; at.increment(none))
        if (at->path().filename().string().starts_with(install_mark)) marks.push_back(at->path().filename().string());
    if (marks.empty()) return false;
    make_private_folder(trash());
    remove_half_installed(workspace(id), trash());
    for (const auto& mark : marks) unmark_install(id, mark);
    return true;
}

std::vector<std::string> sandbox_places::all() const
{
    std::vector<std::string> ids;
    std::error_code none;
    for (fs::directory_iterator at(root_, none), end; !none && at != end; at.increment(none)) {
        std::string name = at->path().filename().string();
        if (handle_maker::fits("sbx", name)) ids.push_back(std::move(name));
    }
    return ids;
}

}  // namespace cmcp
