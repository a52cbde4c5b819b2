#pragma once

#include "mcp/caller.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Where the files of default sandboxes are, one for each caller. Safe to use from several threads at once.
class sandbox_homes {
public:
    sandbox_homes(std::filesystem::path sandbox_root, bool per_session);

    /// The folder, relative to SANDBOX_ROOT: `workspace` without authentication, `callers/<id>/workspace` with it, and
    /// with one for each session `sessions/<id>/workspace` for a caller that has a session.
    std::string of(const caller& who) const;
    bool is_of_session(const caller& who) const { return per_session_ && !who.session.empty(); }
    static bool is_of_session(const std::string& home) { return home.starts_with("sessions/"); }

    /// Whether the principal has files there, beside stored outputs.
    bool is_used(const std::string& principal) const;

    /// Where long outputs are stored, which are no files of the caller's.
    static constexpr const char* outputs_folder = ".outputs";
    static bool has_files(const std::filesystem::path& folder);  ///< but those

    /// Whether it is the path of an output whose name says which server of a cluster stores it.
    static bool is_stored_output(std::string_view path);

    /// All whose folder is here, which may be empty; but for those with a very long name.
    std::vector<std::string> principals() const;

    /// About how many they are, in no time: by the folder's links. 0 on a file system that does not count them so.
    std::uint64_t count() const;

    const std::filesystem::path& root() const { return root_; }

    /// A name safe as one folder's name, different for different principals; never empty, never longer than 120 bytes.
    static std::string safe_name(const std::string& principal);

private:
    std::filesystem::path root_;
    bool per_session_;
};

}  // namespace cmcp
