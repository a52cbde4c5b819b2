#pragma once

#include "files/file_root.hpp"
#include "posix/unique_fd.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// A new file in a folder that appears there, complete, under its name, or not at all. It has no name while it is
/// written where the file system can do that, else a hidden one, which the destructor removes.
class temporary_file {
public:
    explicit temporary_file(int folder) : folder_(folder) {}
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file();

    /// Writes the content, gives the file to the root's owner and sets its mode; throws std::system_error.
    void fill(const file_root& root, std::string_view content, mode_t mode);

    /// Puts it in the place of whatever file or link has that name; throws std::system_error.
    void publish(const std::string& name);

private:
    void open_named();
    void write(const file_root& root);
    bool give_name();

    int folder_;
    unique_fd file_;
    std::string name_;  ///< empty: it has no name in the folder
    std::string_view content_;
    mode_t mode_ = 0;
};

}  // namespace cmcp
