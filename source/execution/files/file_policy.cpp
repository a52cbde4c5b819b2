#include "files/file_policy.hpp"

#include "files/file_error.hpp"
#include "files/file_path.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

#include <algorithm>

namespace cmcp {

namespace {

std::string normal_extension(std::string_view listed)
{
    if (!listed.empty() && listed.front() == '.') listed.remove_prefix(1);
    return lower_case(listed);
}

}  // namespace

file_policy::file_policy(std::uint64_t max_size, std::vector<std::string> extensions) : max_size_(max_size)
{
    for (const auto& listed : extensions) {
        any_extension_ = any_extension_ || listed == "*";
        extensions_.push_back(normal_extension(listed));
    }
}

std::string file_policy::extension_of(std::string_view path)
{
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return {};
    return lower_case(path.substr(dot + 1));
}

std::string file_policy::allowed_list() const
{
    std::vector<std::string> names;
    for (const auto& one : extensions_) names.push_back(one.empty() ? "no extension" : "." + one);
    return names.empty() ? "none" : joined(names, ", ");
}

bool file_policy::allows(std::string_view path) const
{
    return any_extension_ || std::find(extensions_.begin(), extensions_.end(), extension_of(path)) != extensions_.end();
}

void file_policy::check_extension(std::string_view field, std::string_view path, std::string_view advice) const
{
    if (allows(path)) return;
    const std::string extension = extension_of(path);
    const std::string extension_text = extension.empty() ? "a name without extension" : quote_path("." + extension);
    throw file_error(std::string(field) + ": " + extension_text + " is not allowed; FILE_ALLOWED_EXTENSIONS allows " +
                     allowed_list() + std::string(advice) + ".");
}

void file_policy::check_size(std::string_view path, std::uint64_t size, std::string_view advice) const
{
    if (size <= max_size_) return;
    throw file_error(quote_path(path) + " has " + std::to_string(size) + " bytes, more than the " +
                     std::to_string(max_size_) + " that FILE_MAX_SIZE_MB allows" + std::string(advice) + ".");
}

}  // namespace cmcp
