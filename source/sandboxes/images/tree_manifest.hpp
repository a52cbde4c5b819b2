#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cmcp {

/// Every file, folder and link below a root by its path (as percent-encoded text): kind, mode, and the SHA-256 of the
/// content or the target of the link.
using tree_manifest = std::map<std::string, std::string>;

struct tree_size {
    std::uint64_t bytes = 0;  ///< a file with several names once
    std::uint64_t files = 0;
};

/// Makes a tree one that every user may read and nobody profits from: modes 0644 and 0755, no set-user-id, no extended
/// attributes (capabilities, marks of overlays), nothing but files, folders and links. Nobody else may change the tree
/// meanwhile. Throws std::system_error.
tree_size settle_tree(const std::filesystem::path& root);

/// Throws std::system_error.
tree_manifest describe_tree(const std::filesystem::path& root);

std::string manifest_text(const tree_manifest& manifest);
tree_manifest read_manifest(const std::string& text);

/// Sentences about each path that differs, the first ones of many.
std::vector<std::string> differences(const tree_manifest& before, const tree_manifest& now);

/// Copies files, folders and links, without entering other file systems. Throws image_error where there are more than
/// `most` bytes, std::system_error.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t most);

}  // namespace cmcp
