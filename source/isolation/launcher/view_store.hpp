#pragma once

#include "facilities/file_marks.hpp"
#include "facilities/landlock.hpp"
#include "jail/program_view.hpp"
#include "launcher/machine_view.hpp"
#include "launcher/workspace_root.hpp"
#include "posix/unique_fd.hpp"
#include "wire/launcher_options.hpp"
#include "wire/run_request.hpp"

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The prepared root of runs, built once and cloned for every run, which adds its own folders.
struct view {
    std::string key;
    std::string mount_point;  ///< where it is mounted in the launcher's own mount namespace
    unique_fd root;           ///< O_PATH
    landlock_rules rules;     ///< as seen inside
    unique_fd execution;      ///< for a list of programs, instead of rules.read_execute
    bool writable_may_execute = true;
    file_marks marks;                                   ///< of the machine's files that it was made from
    std::chrono::steady_clock::time_point next_look{};  ///< when it may be built anew at the earliest
    std::vector<shown_layer> layers{};                  ///< of class machine, beside the root
};

class view_store {
public:
    /// Mounts the stage in the launcher's mount namespace. `images`, `data`: absolute; empty: runs have none. Throws
    /// step_failed.
    view_store(std::string images, const std::string& data);

    /// The view for `request`; built at the first call, and anew when programs or libraries were installed. Valid until
    /// the next call.
    const view& find(const run_request& request);

    /// Before the first cell of class machine. As machine_folders::begin().
    int begin_machines(identities& ids);
    void finish_machines() { machines_->finish(); }
    void prepare_machines(identities& ids);

    /// Where the first process of such a cell may mount.
    std::string machine_stage() const { return stage_ + "/mounts"; }
    unique_fd overlay_of_data() const;  ///< detached; none: there is no such folder

    /// The program at `path` on a read-only mount, so that its own process cannot change it. Throws step_failed.
    std::string protected_program(const std::string& path);

    /// Whether the views of two principals share no inode of the machine's programs.
    bool own_files() const { return own_files_; }

private:
    unique_fd open_image(const std::string& digest) const;
    std::string key_of(const run_request& request) const;
    void show_data(const view& fresh) const;
    void show_machine(view& fresh, const run_request& request) const;
    void show_image(view& fresh, const run_request& request) const;
    void show_class_machine(view& fresh, const run_request& request);
    view build(const std::string& key, const run_request& request);
    void build_anew(view& old, const run_request& request);
    void forget(const view& old);

    std::string images_folder_;
    workspace_root images_;
    unique_fd data_;
    std::string stage_;
    unsigned made_ = 0;
    bool own_files_ = false;
    std::list<view> views_;  ///< the latest used first
    std::optional<machine_folders> machines_;
};

}  // namespace cmcp::sandbox
