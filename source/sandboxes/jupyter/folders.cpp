#include "jupyter/folders.hpp"

#include <utility>

namespace cmcp::jupyter {

std::string_view trimmed_path(std::string_view path)
{
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view folder_of(std::string_view path)
{
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string joined(std::string_view folder, std::string_view name)
{
    std::string path(folder);
    if (!path.empty()) path += '/';
    return path.append(name);
}

awaitable<place> folders::find(caller who, std::string path) const
{
    path = trimmed_path(path);
    const std::string prefix = std::string(of_sandboxes) + '/';
    std::string sandbox, inside = path;
    if (path.starts_with(prefix)) {
        inside.erase(0, prefix.size());
        sandbox = inside.substr(0, inside.find('/'));
        inside = trimmed_path(std::string_view(inside).substr(sandbox.size()));
    }
    auto where = co_await sandboxes_.use(std::move(who), std::move(sandbox));
    co_return place{std::move(where), std::move(path), inside.empty() ? "." : std::move(inside)};
}

}  // namespace cmcp::jupyter
