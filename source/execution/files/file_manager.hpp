#pragma once

#include "async/blocking_pool.hpp"
#include "files/file_edit.hpp"
#include "files/file_operations.hpp"
#include "files/workspace_quota.hpp"
#include "files/workspaces.hpp"
#include "jsonrpc/json.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// The whole policy of the file tools. Every path is taken from the caller's workspace, which no path leaves.
/// The members throw file_error with a sentence for the model; operation_aborted passes through.
/// Works on the threads of the pool, which must outlive this as `places` must.
class file_manager {
public:
    /// `workspace_size` bounds what the tools write into a workspace, in bytes; 0: no limit.
    file_manager(blocking_pool& pool, const workspaces& places, file_policy policy, limit_of_principal workspace_size);

    awaitable<file_content> read(caller who, file_read_request request);

    /// The same as `describe` makes of it on the pool.
    awaitable<json::object> read(caller who, file_read_request request,
                                 std::function<json::object(file_content)> describe);

    /// All bytes of a file, whatever its extension; FILE_MAX_SIZE_MB holds.
    awaitable<std::string> bytes(caller who, std::string path);
    awaitable<> write(caller who, file_write_request request);
    awaitable<edited_file> edit(caller who, file_edit_request request);  ///< the file has its name
    awaitable<file_page> list(caller who, file_list_request request);

    /// The same without enter(), as `describe` makes of it on the pool.
    awaitable<json::array> list_here(caller who, file_list_request request,
                                     std::function<json::array(file_page)> describe);
    awaitable<> remove(caller who, std::string path);
    awaitable<> move(caller who, file_move_request request);

    /// workspaces::enter() of a call for a file. Null also where the file stays at this server, whoever has the
    /// workspace.
    awaitable<std::shared_ptr<workspace_use>> enter(caller who, std::string path);

    awaitable<std::filesystem::path> workspace(caller who);  ///< folder(), made on the pool

    const file_policy& policy() const { return policy_; }

    /// Where the caller's files are; made where it does not exist.
    std::filesystem::path folder(const caller& who) const { return places_->folder(who); }

private:
    awaitable<> write_within_quota(caller who, file_write_request request);

    blocking_pool* pool_;
    const workspaces* places_;
    file_policy policy_;
    workspace_quota quota_;
};

}  // namespace cmcp
