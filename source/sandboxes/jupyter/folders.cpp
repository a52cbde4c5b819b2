#include "jupyter/folders.hpp"

#include <utility>

namespace cmcp::jupyter {

namespace {

std::string inside_or_root(std::string_view path) { return path.empty() ? "." : std::string(path); }

}  // namespace

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

std::optional<place> folders::find(const caller& who, std::string_view path) const
{
    path = trimmed_path(path);
    const std::string prefix = std::string(of_sandboxes) + '/';
    if (path.starts_with(prefix)) {
        const auto rest = path.substr(prefix.size());
        const auto name = rest.substr(0, rest.find('/'));
        const auto inside = trimmed_path(rest.substr(name.size()));
        return place{sandboxes_.find(who, std::string(name)), std::string(path), inside_or_root(inside)};
    }
    auto at_home = sandboxes_.store().find(who.principal, home);
    if (!at_home) return std::nullopt;
    return place{std::move(*at_home), std::string(path), inside_or_root(path)};
}

// Another request may make it meanwhile.
awaitable<place> folders::find_or_make(caller who, std::string path) const
{
    auto there = find(who, path);
    if (there) co_return std::move(*there);
    new_sandbox wanted;
    wanted.name = home;
    try {
        co_await sandboxes_.create(who, std::move(wanted));
    } catch (const sandbox_error& refused) {
        if (refused.type != "NameTaken") throw;
    }
    there = find(who, path);
    if (!there) throw sandbox_error("NotFound", "The sandbox \"jupyter\" has just been deleted; try again.");
    co_return std::move(*there);
}

}  // namespace cmcp::jupyter
