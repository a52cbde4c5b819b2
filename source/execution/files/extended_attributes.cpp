#include "files/extended_attributes.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t longest_list = 64 * 1024, longest_value = 64 * 1024;  // xattr(7)

}  // namespace

bool is_user_attribute(const std::string& name) { return name.starts_with("user.") && name.size() <= 255; }

std::map<std::string, std::string> read_attributes(int fd)
{
    std::map<std::string, std::string> all;
    if (::flistxattr(fd, nullptr, 0) <= 0) return all;  // as for most files
    std::string names(longest_list, '\0');
    const auto length = ::flistxattr(fd, names.data(), names.size());
    names.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    for (std::string_view rest = names; !rest.empty();
         rest.remove_prefix(std::min(rest.find('\0'), rest.size() - 1) + 1)) {
        const std::string name(rest.substr(0, rest.find('\0')));
        if (!is_user_attribute(name)) continue;
        std::string value(longest_value, '\0');
        const auto size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
        if (size < 0) continue;
        value.resize(static_cast<std::size_t>(size));
        all.emplace(name, std::move(value));
    }
    return all;
}

bool write_attributes(int fd, const std::map<std::string, std::string>& attributes)
{
    return std::ranges::all_of(attributes, [fd](const auto& each) {
        return ::fsetxattr(fd, each.first.c_str(), each.second.data(), each.second.size(), 0) == 0;
    });
}

}  // namespace cmcp
