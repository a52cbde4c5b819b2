#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

/// Folders that programs fill: packages, caches, records of versions, outputs that the server keeps. Nobody wrote what
/// is in them.
inline constexpr std::array<std::string_view, 27> folders_of_programs{
    ".local",        ".cache",        ".outputs",    ".config",       "__pycache__",
    "node_modules",  ".npm",          ".pnpm-store", ".gradle",       ".m2",
    ".nuget",        ".git",          ".hg",         ".svn",          ".venv",
    "venv",          "site-packages", ".tox",        ".nox",          ".ipynb_checkpoints",
    ".pytest_cache", ".mypy_cache",   ".ruff_cache", ".parcel-cache", ".hypothesis",
    ".turbo",        ".next"};

/// Folders whose files come and go with a build.
inline constexpr std::array<std::string_view, 6> folders_of_builds{"dist",     "build",   "target",
                                                                   "coverage", "htmlcov", ".nuxt"};

inline bool is_of_programs(std::string_view folder)
{
    return std::ranges::find(folders_of_programs, folder) != folders_of_programs.end() ||
           folder.starts_with(".kernel") || folder == ".machine";  // the state of a kernel, what a machine changed
}

/// Whether the folder says nothing to somebody who lists what is there: caches, and what kernels keep.
inline bool is_noise_in_lists(std::string_view folder)
{
    return folder == ".cache" || folder == ".displays" || folder == ".machine" || folder.starts_with(".kernel");
}

/// Whether a path leads through a folder of a build.
inline bool is_in_build(std::string_view path)
{
    for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        if (std::ranges::find(folders_of_builds, path.substr(0, slash)) != folders_of_builds.end()) return true;
        path.remove_prefix(slash + 1);
    }
    return false;
}

}  // namespace cmcp
