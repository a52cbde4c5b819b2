#pragma once

#include "async/task_group.hpp"
#include "jupyter/folders.hpp"
#include "mcp/caller.hpp"
#include "sandboxes/sandbox_files.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp::jupyter {

/// Files that clients send in numbered pieces, each in a request of its own. A file appears with its last piece; one
/// whose next piece does not come is dropped. Throws http_refusal, sandbox_error and file_error. Io thread only.
class chunked_uploads {
public:
    static constexpr std::int64_t last = -1;

    /// `files` must outlive this.
    chunked_uploads(asio::any_io_executor executor, sandbox_files& files, std::chrono::seconds patience)
        : files_(files), patience_(patience), tasks_(executor)
    {
    }

    /// Piece `number`, from 1 on, or the last one, of the file at `to`. Gives the bytes so far.
    awaitable<std::uint64_t> put(caller who, place to, std::int64_t number, std::string bytes);

    awaitable<> stop();  ///< drops what is not complete

private:
    struct upload {
        std::unique_ptr<file_upload> file;
        std::int64_t next = 1;  // piece
        std::uint64_t size = 0;
        bool busy = false;  // a piece is being written
        event::clock::time_point until;
    };
    using key = std::pair<std::string, std::string>;  // owner, and sandbox with path

    awaitable<std::shared_ptr<upload>> find_or_begin(const key& name, caller who, place to, std::int64_t number);
    awaitable<> drop_late();

    sandbox_files& files_;
    std::chrono::seconds patience_;
    std::map<key, std::shared_ptr<upload>> all_;
    bool watched_ = false;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp::jupyter
