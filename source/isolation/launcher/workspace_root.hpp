#pragma once

#include "posix/unique_fd.hpp"

#include <string>

namespace cmcp::sandbox {

/// The folder below which every workspace lies, or every image. The launcher opens this folder once; a workspace is
/// opened beneath the open folder and used by its descriptor from then on, so no name that changes meanwhile leads
/// elsewhere.
class workspace_root {
public:
    workspace_root() = default;

    /// `path` is absolute; empty: workspaces may be anywhere. A folder that is not there yet is opened with its first
    /// workspace, as `container-mcp doctor` has none.
    explicit workspace_root(std::string path);

    /// The workspace, opened with O_PATH or O_RDONLY. Throws step_failed, with EXDEV or ELOOP where the workspace is
    /// not beneath the root or where a link is on its way.
    unique_fd open(const std::string& workspace, int access, const char* kind = "workspace") const;

private:
    std::string path_;
    mutable unique_fd folder_;
};

}  // namespace cmcp::sandbox
