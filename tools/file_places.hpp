#pragma once

#include "files/file_manager.hpp"
#include "mcp/tool_context.hpp"
#include "runs/file_searcher.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The files that the file tools work on: those of the caller's workspace, or of the sandbox that a call means. The
/// members throw file_error and sandbox_error.
class file_places {
public:
    /// Both must outlive this.
    file_places(file_manager& files, files_of_sandboxes inside) : files_(files), inside_(inside) {}

    awaitable<file_content> read(const caller& who, const std::string& sandbox, file_read_request what) const;
    awaitable<> write(const caller& who, const std::string& sandbox, file_write_request what) const;
    awaitable<file_page> list(const caller& who, const std::string& sandbox, file_list_request what) const;
    awaitable<> remove(const caller& who, const std::string& sandbox, std::string path) const;
    awaitable<> move(const caller& who, const std::string& sandbox, file_move_request what) const;
    awaitable<edited_file> edit(const caller& who, const std::string& sandbox, file_edit_request what) const;
    awaitable<file_matches> search(file_searcher& by, const caller& who, const std::string& sandbox,
                                   file_search_request what, std::size_t room) const;
    awaitable<std::string> bytes(const caller& who, const std::string& sandbox, std::string path) const;

    /// The argument that names a sandbox, behind the others where there are sandboxes.
    template <class Input>
    fields<Input> with_place(fields<Input> all) const
    {
        if (inside_.files != nullptr) all.push_back(sandbox_id_field(""));
        return all;
    }

private:
    /// Nothing: the call means the workspace, because it names no sandbox. Code means its own sandbox then, unless it
    /// may use the workspace.
    std::optional<sandbox_record> find(const caller& who, const std::string& sandbox) const;

    file_manager& files_;
    files_of_sandboxes inside_;
};

}  // namespace cmcp
