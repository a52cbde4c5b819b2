#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// Finds shared libraries where the dynamic loader would: the file's own search path, /etc/ld.so.conf, the loader's
/// folders.
class library_search {
public:
    library_search();

    /// The path of library `name` for `machine`, with symlinks as found; nothing when there is none.
    std::optional<std::string> find(const std::string& name, std::uint16_t machine,
                                    const std::vector<std::string>& search_path) const;

    /// The loader's folders of this machine that exist, /usr/lib/x86_64-linux-gnu for example.
    const std::vector<std::string>& folders() const { return folders_; }

private:
    std::vector<std::string> folders_;
};

}  // namespace cmcp::sandbox
