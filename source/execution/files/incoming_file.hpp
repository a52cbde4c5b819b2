#pragma once

#include "files/file_path.hpp"
#include "files/file_root.hpp"
#include "posix/unique_fd.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// A file that is written piece by piece and appears under its name, complete, at publish(). Until then it has no name
/// where the file system can do that, so nothing is left of it however this process ends; elsewhere it has a hidden
/// name, which the destructor removes. It belongs to the owner of the root. All members block on the disk.
class incoming_file {
public:
    /// Makes the folders that the path needs. Throws file_error, std::system_error.
    incoming_file(const file_root& root, const file_path& path, mode_t mode = 0644);
    incoming_file(const incoming_file&) = delete;
    incoming_file& operator=(const incoming_file&) = delete;
    ~incoming_file();

    void append(std::string_view bytes);  ///< throws file_error when the disk is full
    void publish();                       ///< replaces a file or link of that name; throws file_error

    /// The same, where the file of that name is still the one that `seen` is of, unchanged; throws file_changed.
    void publish_over(const struct stat& seen);
    std::uint64_t size() const { return size_; }

    /// Bytes that a measurement of the folder does not find.
    std::uint64_t unseen() const { return hidden_.empty() ? size_ : 0; }

private:
    bool can_be_named() const;
    bool link_to(const std::string& name) const;

    file_path path_;
    std::string leaf_;
    file_owner owner_;
    unique_fd folder_;
    unique_fd file_;
    std::string hidden_;  // its name until it is published; empty: it has none
    std::uint64_t size_ = 0;
};

}  // namespace cmcp
