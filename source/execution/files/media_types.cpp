#include "files/media_types.hpp"

#include "files/file_policy.hpp"

#include <array>
#include <string>
#include <utility>

namespace cmcp {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> media_types{{
    {"txt", "text/plain"},
    {"md", "text/markdown"},
    {"csv", "text/csv"},
    {"json", "application/json"},
    {"py", "text/x-python"},
    {"html", "text/html"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"sh", "text/x-shellscript"},
    {"js", "text/javascript"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"gif", "image/gif"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
}};

}  // namespace

std::string_view media_type_of(std::string_view path, std::string_view fallback)
{
    const std::string extension = file_policy::extension_of(path);
    for (const auto& [known, type] : media_types)
        if (known == extension) return type;
    return fallback;
}

}  // namespace cmcp
