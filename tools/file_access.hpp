#pragma once

#include "mcp/tool_context.hpp"
#include "runs/file_searcher.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <string>

namespace cmcp {

class tool_registry;

/// The files that the file tools work on: those of the sandbox that a call means. The members throw file_error and
/// sandbox_error.
class file_access {
public:
    file_access(const file_tool_parts& parts, const tool_registry& registry);  ///< what they name outlives this

    awaitable<file_content> read(caller who, std::string sandbox, file_read_request what) const;
    /// A sentence for the answer; empty: there is nothing to say.
    awaitable<std::string> write(caller who, std::string sandbox, file_write_request what) const;
    awaitable<file_page> list(caller who, std::string sandbox, file_list_request what) const;
    awaitable<> remove(caller who, std::string sandbox, std::string path) const;
    awaitable<> move(caller who, std::string sandbox, file_move_request what) const;
    awaitable<edited_file> edit(caller who, std::string sandbox, file_edit_request what) const;
    awaitable<file_matches> search(file_searcher& by, caller who, std::string sandbox, file_search_request what,
                                   std::size_t room) const;
    awaitable<std::string> bytes(caller who, std::string sandbox, std::string path) const;

private:
    /// FILE_ALLOWED_EXTENSIONS where it holds. Its default is for the users of the earlier system whose rule it is, in
    /// the one sandbox that they know; programs in a sandbox write any file anyway.
    file_policy policy_for(const caller& who, const sandbox_record& where) const;

    sandbox_files& files_;
    sandbox_manager& sandboxes_;
    const tool_registry& registry_;
    const execution_settings& config_;
};

}  // namespace cmcp
