#pragma once

#include <map>
#include <string>

namespace cmcp::sandbox {

/// The machine's folders as file systems of their own: an overlay with nothing in it but the folder. Watches (inotify)
/// and locks (flock) of who sees the overlay meet nobody else's, because the overlay has inodes of its own.
class own_folders {
public:
    /// `base`: a folder of the launcher's own, made here, in which the overlays are mounted while the object lives.
    explicit own_folders(std::string base);
    own_folders(const own_folders&) = delete;
    own_folders& operator=(const own_folders&) = delete;
    ~own_folders();

    /// Where the content of `path` is shown in an overlay; `path` itself for a single file outside of /usr. Throws
    /// step_failed where the kernel permits no overlay.
    std::string source_of(const std::string& path);

    /// Whether /usr can be shown in an overlay here.
    static bool possible(const std::string& base);

private:
    std::string mounted(const std::string& folder);

    std::string base_;
    std::map<std::string, std::string> overlays_;  ///< folder to the mount point of its overlay
};

}  // namespace cmcp::sandbox
