#pragma once

#include "async/blocking_pool.hpp"
#include "files/file_listing.hpp"
#include "files/file_policy.hpp"
#include "files/workspaces.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cmcp {

struct file_read_request {
    std::string path;
    std::string encoding = "utf-8";        ///< or base64, or a name of managers/text_encoding.hpp
    std::uint64_t offset = 0;              ///< bytes
    std::optional<std::uint64_t> limit{};  ///< bytes; without it the whole file is meant
};

struct file_content {
    std::string content;                       ///< UTF-8, or base64
    std::uint64_t size = 0;                    ///< bytes of the whole file
    double modified = 0;                       ///< seconds since 1970
    std::optional<std::uint64_t> next_offset;  ///< where to go on when the content stops before the end of the file
};

struct file_write_request {
    std::string path;
    std::string content;
    std::string encoding = "utf-8";
};

struct file_move_request {
    std::string source;
    std::string destination;
    bool overwrite = false;
};

/// The whole policy of the file tools. Every path is taken from the caller's workspace, which the kernel keeps it in.
/// The members throw file_error with a sentence for the model; operation_aborted passes through.
/// Works on the pool's threads; what is given to the constructor must outlive it.
class file_manager {
public:
    file_manager(blocking_pool& pool, const workspaces& places, file_policy policy);
    static file_manager from_settings(const settings& from, blocking_pool& pool, const workspaces& places);

    awaitable<file_content> read(caller who, file_read_request what);
    awaitable<> write(caller who, file_write_request what);
    awaitable<file_page> list(caller who, file_list_request what);
    awaitable<> remove(caller who, std::string path);
    awaitable<> move(caller who, file_move_request what);

    const file_policy& policy() const { return policy_; }

    /// Where the caller's files are; made where it does not exist.
    std::filesystem::path folder(const caller& who) const { return places_->folder(who); }

private:
    blocking_pool* pool_;
    const workspaces* places_;
    file_policy policy_;
};

}  // namespace cmcp
