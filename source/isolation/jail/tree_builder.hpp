#pragma once

#include "facilities/namespaces.hpp"
#include "posix/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// Builds a folder tree below one root. Paths are absolute inside; links met on the way stay inside (openat2 IN_ROOT).
/// An entry that is there already stays as it is. Throws step_failed with the path in the step's name.
class tree_builder {
public:
    /// Says where the host's content at a path is taken from.
    using source = std::function<std::string(const std::string& path)>;

    explicit tree_builder(unique_fd root, source from = {}) : root_(std::move(root)), from_(std::move(from)) {}

    void folder(const std::string& path, unsigned mode = 0755);
    void file(const std::string& path, std::string_view content, unsigned mode = 0644);
    void link(const std::string& path, const std::string& target);

    /// Shows the host's `source` at `path` by a bind mount with MOUNT_ATTR_* `attributes`.
    void bind(const std::string& source, const std::string& path, std::uint64_t attributes);

    /// The same content by copying (fewer mounts to clone at every run); mode 0755 when executable, else 0644.
    void copy(const std::string& source, const std::string& path);

    void give(const std::string& path, id_pair to);  ///< what is there already

    bool exists(const std::string& path) const;

private:
    unique_fd open_inside(const std::string& path, int flags) const;  ///< empty with errno when it cannot be opened
    unique_fd parent_of(const std::string& path);

    unique_fd root_;
    source from_;
};

}  // namespace cmcp::sandbox
