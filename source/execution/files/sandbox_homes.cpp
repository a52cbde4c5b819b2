#include "files/sandbox_homes.hpp"

#include "files/file_resources.hpp"
#include "text/encodings.hpp"
#include "text/handles.hpp"

#include <sys/stat.h>

#include <cctype>
#include <system_error>

namespace cmcp {

sandbox_homes::sandbox_homes(std::filesystem::path sandbox_root, bool per_session)
    : root_(std::filesystem::absolute(sandbox_root).lexically_normal()), per_session_(per_session)
{
}

std::string sandbox_homes::of(const caller& who) const
{
    // The id is a secret of the client, so the name of a folder must not show it.
    if (is_of_session(who))
        return "sessions/" + sha256_hex(who.principal + '\0' + who.session).substr(0, 40) + "/workspace";
    return who.principal.empty() ? "workspace" : "callers/" + safe_name(who.principal) + "/workspace";
}

std::string sandbox_homes::safe_name(const std::string& principal)
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

bool sandbox_homes::is_used(const std::string& principal) const
{
    caller who;
    who.principal = principal;
    return has_files(root_ / of(who));
}

bool sandbox_homes::has_files(const std::filesystem::path& folder)
{
    std::error_code ignored;
    for (std::filesystem::directory_iterator each(folder, ignored), end; !ignored && each != end;
         each.increment(ignored))
        if (each->path().filename() != outputs_folder) return true;
    return false;
}

bool sandbox_homes::is_stored_output(std::string_view path)
{
    path.remove_prefix(path.rfind('/') + 1);
    return handle_maker::fits("out", path.substr(0, path.find('.')));
}

std::vector<std::string> sandbox_homes::principals() const
{
    std::vector<std::string> all;
    std::error_code ignored;
    if (std::filesystem::exists(root_ / "workspace", ignored)) all.emplace_back();
    for (std::filesystem::directory_iterator each(root_ / "callers", ignored), end; !ignored && each != end;
         each.increment(ignored))
        if (auto name = decoded_uri_part(each->path().filename().string())) all.push_back(std::move(*name));
    return all;
}

std::uint64_t sandbox_homes::count() const
{
    constexpr nlink_t of_folder = 2;
    struct stat about {};
    if (::stat((root_ / "callers").c_str(), &about) != 0 || about.st_nlink < of_folder) return 0;
    return about.st_nlink - of_folder;
}

}  // namespace cmcp
