#pragma once

#include "async/blocking_pool.hpp"
#include "posix/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace cmcp {

/// A file of the workspace that takes the whole output of one run.
class output_file {
public:
    output_file(unique_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    const std::string& path() const { return path_; }            ///< relative to the workspace
    std::string uri() const { return "workspace:///" + path_; }  ///< for resources/read

    /// Blocks. False when the disk is full or the file is too long; then nothing more is written.
    bool append(std::string_view bytes);

private:
    unique_fd fd_;
    std::string path_;
    bool failed_ = false;
};

/// Removes the oldest kept outputs (regular files named as output_store names them) from the folder `descriptor` until
/// at most `files` and `bytes` of them are left. Looks at a bounded number of entries. Blocks.
void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes);

/// Keeps long outputs as `.outputs/<128 random bits>.txt` in the workspace of the caller they belong to, so that the
/// caller, and nobody else, reads them with the file tools and resources/read. The oldest are removed.
class output_store {
public:
    struct limits {
        std::size_t files = 20;              ///< of one workspace
        std::uint64_t bytes = 256ull << 20;  ///< of one workspace
    };

    explicit output_store(blocking_pool& pool) : output_store(pool, limits()) {}
    output_store(blocking_pool& pool, limits keep) : pool_(&pool), keep_(keep) {}

    /// Nothing when the folder cannot be used (the caller's own code put something else in its place, no space left).
    awaitable<std::shared_ptr<output_file>> create(std::filesystem::path workspace);

    /// Waits until `bytes` are written.
    awaitable<bool> append(std::shared_ptr<output_file> file, std::string bytes);

private:
    blocking_pool* pool_;
    limits keep_;
};

}  // namespace cmcp
