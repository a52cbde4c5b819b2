#pragma once

#include "facilities/identities.hpp"
#include "jail/system_files.hpp"
#include "launcher/folder_copies.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// What a cell of class machine sees before it has changed anything.
namespace cmcp::sandbox {

/// A mount in the launcher's stage, which has none below it.
struct shown_folder {
    std::string mount_point;
    bool maps_ids = false;  ///< its owners are to be those of the machine
};

/// The folders that lie in one overlay of a machine, the first on top.
struct shown_layer {
    std::string path;  ///< inside
    std::vector<shown_folder> lower{};
};

/// Adds the small /etc of a machine, the folders of /var and what its package manager needs. Like that of other runs it
/// has no account, key or host name of this one; its files may be changed inside.
void add_machine_files(tree_builder& tree, const run_account& user);

/// Only these folders of the host are shown by overlays of their own, because the root folder's shows no mounts.
std::vector<std::string> machine_program_folders();

/// Mounts folders of this host for the overlays of machines, each once.
class machine_folders {
public:
    /// `stage`: a folder of the launcher's own. `ids` must outlive this.
    machine_folders(std::string stage, identities& ids) : stage_(std::move(stage)), ids_(ids) {}

    /// Begins to prepare the layers of machine_program_folders(), where that takes long. Once what it gives is readable
    /// finish() must follow; -1: there is nothing to wait for. Throws step_failed.
    int begin();
    void finish();

    /// The layer of a folder. Where the kernel does not show it with other owners, root inside owns none of its files,
    /// but all of its folders: it may replace and remove what it cannot change. Throws step_failed.
    const shown_layer& layer_of(const std::string& folder);

    void add_home(tree_builder& tree, const run_account& user) const;  ///< its own folder, where there are ids for it

    /// A mounted folder of the launcher's own as part of a layer.
    shown_folder own(const std::string& mount_point) const;

private:
    bool can_map(const std::string& mount_point) const;
    std::string show(const std::string& folder);
    std::string copy_of_packages();
    std::string new_memory(unique_fd& memory);
    std::string next_place();

    std::string stage_;
    identities& ids_;
    unsigned made_ = 0;
    std::map<std::string, shown_layer> layers_;
    bool begun_ = false;
    std::map<std::string, shown_layer> prepared_;  // whose folders are being copied
    std::optional<folder_copies> copies_;
};

}  // namespace cmcp::sandbox
