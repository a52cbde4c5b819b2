#pragma once

#include "async/sliced_work.hpp"
#include "files/file_root.hpp"
#include "files/incoming_file.hpp"
#include "posix/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace cmcp {

/// A file that came into a sandbox.
struct stored_file {
    std::string path;  ///< relative to the working folder
    std::uint64_t size = 0;
};

/// A file that comes into a sandbox and has no name there yet.
struct written_file {
    std::string path;  ///< relative to the working folder
    std::shared_ptr<incoming_file> file;
};

/// Whether a path into a workspace is that of a folder: one is there, or the path ends with '/'.
bool names_folder(const file_root& workspace, const std::string& inside);

/// Part of an open file; empty at its end. Throws file_error.
std::string read_piece(int fd, std::uint64_t offset, std::size_t most);

/// Copies the first `size` bytes of an open file into a file of the workspace, or under the name of `source` into a
/// folder, without publishing it. Throws file_error.
sliced_work<written_file> copy_local_file(std::shared_ptr<unique_fd> from, std::uint64_t size,
                                          std::filesystem::path workspace, std::string inside, std::string source);

}  // namespace cmcp
