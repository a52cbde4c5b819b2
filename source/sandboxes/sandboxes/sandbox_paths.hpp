#pragma once

#include "store/sandbox_store.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Makes the folder for its owner alone (0700), or leaves it as it is. Throws std::system_error.
void make_private_folder(const std::filesystem::path& place);

/// Where sandboxes lie on this machine: `<root>/<id>/{workspace,snapshots/<id>,calls}`, and the files of a default
/// sandbox in its home beside `<root>`. All calls block on the disk. The ids given must fit (handle_maker::fits).
class sandbox_paths {
public:
    explicit sandbox_paths(std::filesystem::path root) : root_(std::move(root)) {}

    const std::filesystem::path& root() const { return root_; }
    std::filesystem::path folder(std::string_view id) const { return root_ / id; }
    std::filesystem::path files(const sandbox_record& of) const;
    std::filesystem::path snapshot(std::string_view id, std::string_view snapshot) const;

    void make(const sandbox_record& of) const;        ///< throws std::system_error
    void make_files(const sandbox_record& of) const;  ///< files() alone
    bool exists(const sandbox_record& of) const;

    /// All folders of its own.
    std::vector<std::filesystem::path> folders(const sandbox_record& of) const;

    /// Moves a file or folder away in one step, to be removed; clear_trash() does that after a crash. Where it is then.
    std::filesystem::path discard(const std::filesystem::path& what) const;
    void remove(const std::filesystem::path& what) const;  ///< discards and removes it, which may take long
    void clear_trash() const;

    /// A new folder for what another server has now, under the handle of that.
    std::filesystem::path make_aside(std::string_view handle) const;

    /// Moves the folder of a sandbox that another server has aside, and removes those that have been there for so long.
    /// Kept outputs stay where results say that they are.
    void supersede(const sandbox_record& of) const;

    /// The folder `fresh` becomes that of the sandbox, with its files in `workspace`; other files that are in the place
    /// of a default one's go aside. Throws std::system_error.
    void take(const sandbox_record& of, const std::filesystem::path& fresh) const;
    void clear_superseded(std::chrono::milliseconds kept_for) const;

    /// A new folder beside the sandboxes for what passes through. remove() ends it, and clear_trash() after a crash.
    std::filesystem::path make_passing() const;

    /// An installation of packages begins: from now to its removal the mark says that it may be half done. Its name.
    std::string mark_install(std::string_view id) const;
    void unmark_install(std::string_view id, const std::string& mark) const;

    /// Whether an installation was cut off. Removes its half-installed packages and the marks.
    bool end_marked_installs(const sandbox_record& of) const;

    std::vector<std::string> all() const;  ///< ids that have a folder

private:
    void set_files_aside(const sandbox_record& of, const std::filesystem::path& to) const;
    std::filesystem::path trash() const { return root_ / ".trash"; }
    std::filesystem::path superseded() const { return root_ / ".superseded"; }

    std::filesystem::path root_;
};

/// The packages in the files of a sandbox with their versions, named as package_installer names them: those of pip that
/// are whole (their RECORD is written last), and `npm:name`. Nothing outside of `files` is looked at, whatever links in
/// it say; what cannot be read is left out. Blocks on the disk.
std::map<std::string, std::string> installed_packages(const std::filesystem::path& files);

/// Moves what pip would take for an installed package but has no RECORD, as an installation that was killed leaves it,
/// to new names in `trash`. Only while nothing runs in the sandbox. Blocks on the disk.
void remove_half_installed(const std::filesystem::path& files, const std::filesystem::path& trash);

}  // namespace cmcp
