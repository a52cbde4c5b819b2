#pragma once

#include "files/workspace_use.hpp"
#include "mcp/caller.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// The one folder in which a caller's files are, for the file tools and the run tools alike.
/// Safe to use from several threads at once, but for enter() and before_use().
class workspaces {
public:
    using gate = std::function<awaitable<std::shared_ptr<workspace_use>>(std::string principal)>;

    workspaces(std::filesystem::path sandbox_root, bool per_session);

    /// The caller's folder (absolute path), made with mode 0700 where it does not exist:
    /// `<root>/workspace` without authentication, `<root>/callers/<id>/workspace` with it, and with one workspace a
    /// session `<root>/sessions/<id>/workspace` for a caller that has a session. Throws std::system_error.
    std::filesystem::path folder(const caller& who) const;

    /// Where the caller's folder is, without making it.
    std::filesystem::path locate(const caller& who) const;

    /// Before the caller uses the workspace: waits until it is here, and throws where this server may not use it now.
    /// Null: it is always here.
    awaitable<std::shared_ptr<workspace_use>> enter(caller who) const;

    /// Whom enter() asks, but for workspaces of sessions.
    void before_use(gate asks) { gate_ = std::move(asks); }

    /// Removes the workspace of the caller's session with all that is in it; nothing when it has none of its own.
    void forget(const caller& who) const;

    /// Whether there is anything in the principal's workspace but kept outputs.
    bool is_used(const std::string& principal) const;

    /// Where long outputs are kept in a workspace, which are no files of the caller's.
    static constexpr const char* outputs_folder = ".outputs";
    static bool has_files(const std::filesystem::path& workspace);  ///< but those

    /// All that have a workspace here, which may be empty; but for those with a very long name.
    std::vector<std::string> principals() const;

    /// About how many they are, in no time: by the folder's links. 0 on a file system that does not count them so.
    std::uint64_t count() const;

    const std::filesystem::path& root() const { return root_; }

    /// A name safe as one folder's name, different for different principals; never empty, never longer than 120 bytes.
    static std::string safe_name(const std::string& principal);

private:
    bool has_session_folder(const caller& who) const { return per_session_ && !who.session.empty(); }

    std::filesystem::path root_;
    bool per_session_;
    gate gate_{};
};

}  // namespace cmcp
