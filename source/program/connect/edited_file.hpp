#pragma once

#include "connect/client.hpp"
#include "posix/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace cmcp::connect {

/// A file of the user's that is read, and later replaced by a changed text in one step. Links are followed only inside
/// of a folder.
class edited_file {
public:
    /// Reads the file where it is there. `leave_base`: links may lead elsewhere. Throws std::runtime_error with a
    /// sentence: it is no regular file, a link leads out of the folder, it is too large.
    edited_file(const client_file& where, bool leave_base);

    const std::string& text() const { return text_; }            ///< empty where there is none
    const std::filesystem::path& file() const { return file_; }  ///< with links followed
    bool is_linked() const { return linked_; }
    bool exists() const { return status_.has_value(); }
    bool others_may_read() const { return status_ && (status_->st_mode & (S_IRGRP | S_IROTH)) != 0; }

    /// Makes missing folders, copies the former file beside itself, and puts the text in its place with its mode and
    /// owner. If `secret`, both have mode 0600, whatever the former file had. Returns the copy's path, or nothing where
    /// there was no file. Throws std::runtime_error where that cannot be done, or where somebody has changed the file
    /// since it was read.
    std::optional<std::filesystem::path> replace(const std::string& text, bool secret);

private:
    void read();
    unique_fd open_folder() const;
    void check_unchanged(int folder) const;
    std::filesystem::path back_up(int folder, bool secret) const;
    void write_beside(int folder, const std::string& name, const std::string& text, mode_t mode) const;

    std::filesystem::path file_;
    bool linked_ = false;
    std::string text_;
    std::optional<struct stat> status_;
};

}  // namespace cmcp::connect
