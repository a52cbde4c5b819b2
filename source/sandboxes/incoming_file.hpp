#pragma once

#include "files/file_path.hpp"
#include "files/file_root.hpp"
#include "posix/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// A file that is written piece by piece and appears under its name, complete, at publish(). Until then it has no name:
/// nothing is left of it however this process ends. All members block on the disk.
class incoming_file {
public:
    /// Makes the folders that the path needs. Throws file_error, std::system_error.
    incoming_file(const file_root& root, const file_path& path);

    void append(std::string_view bytes);  ///< throws file_error when the disk is full
    void publish();                       ///< in the place of a file of that name; throws file_error
    std::uint64_t size() const { return size_; }

private:
    file_path path_;
    std::string leaf_;
    unique_fd folder_;
    unique_fd file_;
    std::uint64_t size_ = 0;
};

}  // namespace cmcp
