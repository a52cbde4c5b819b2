#include "files/workspaces.hpp"

#include "files/file_resources.hpp"
#include "files/trees.hpp"
#include "text/encodings.hpp"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

void make_folder(const std::filesystem::path& folder)
{
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
    if (errno != ENOENT || !folder.has_relative_path())
        throw std::system_error(errno, std::generic_category(), folder.string());
    make_folder(folder.parent_path());
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        throw std::system_error(errno, std::generic_category(), folder.string());
}

}  // namespace

workspaces::workspaces(std::filesystem::path sandbox_root, bool per_session)
    : root_(std::filesystem::absolute(sandbox_root).lexically_normal()), per_session_(per_session)
{
}

std::filesystem::path workspaces::locate(const caller& who) const
{
    if (has_session_folder(who)) {
        // The id is a secret of the client, so the name of a folder must not show it.
        const std::string id = sha256_hex(who.principal + '\0' + who.session).substr(0, 40);
        return root_ / "sessions" / id / "workspace";
    }
    if (!who.principal.empty()) return root_ / "callers" / safe_name(who.principal) / "workspace";
    return root_ / "workspace";
}

std::filesystem::path workspaces::folder(const caller& who) const
{
    auto place = locate(who);
    make_folder(place);
    return place;
}

awaitable<std::shared_ptr<workspace_use>> workspaces::enter(caller who) const
{
    std::shared_ptr<workspace_use> use;
    if (gate_ && !has_session_folder(who)) use = co_await gate_(std::move(who.principal));
    co_return use;
}

void workspaces::forget(const caller& who) const
{
    if (has_session_folder(who)) whole(remove_tree(locate(who).parent_path()));
}

std::string workspaces::safe_name(const std::string& principal)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string name;
    for (unsigned char c : principal) {
        if ((std::isalnum(c) != 0 && c < 0x80) || c == '-' || c == '_')
            name += static_cast<char>(c);
        else
            name += {'%', digits[c >> 4], digits[c & 15]};
    }
    // The encoding above never gives "%-", so a long name cannot be the same as a short one.
    if (name.empty() || name.size() > 120) return "%-" + sha256_hex(principal);
    return name;
}

bool workspaces::is_used(const std::string& principal) const
{
    caller who;
    who.principal = principal;
    return has_files(locate(who));
}

bool workspaces::has_files(const std::filesystem::path& workspace)
{
    std::error_code ignored;
    for (std::filesystem::directory_iterator each(workspace, ignored), end; !ignored && each != end;
         each.increment(ignored))
        if (each->path().filename() != outputs_folder) return true;
    return false;
}

std::vector<std::string> workspaces::principals() const
{
    std::vector<std::string> all;
    std::error_code ignored;
    if (std::filesystem::exists(root_ / "workspace", ignored)) all.emplace_back();
    for (std::filesystem::directory_iterator each(root_ / "callers", ignored), end; !ignored && each != end;
         each.increment(ignored))
        if (auto name = decoded_uri_part(each->path().filename().string())) all.push_back(std::move(*name));
    return all;
}

std::uint64_t workspaces::count() const
{
    constexpr nlink_t of_folder = 2;
    struct stat about {};
    if (::stat((root_ / "callers").c_str(), &about) != 0 || about.st_nlink < of_folder) return 0;
    return about.st_nlink - of_folder;
}

}  // namespace cmcp
