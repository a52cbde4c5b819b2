#pragma once

#include "facilities/namespaces.hpp"
#include "posix/unique_fd.hpp"

#include <string>
#include <vector>

/// The root folder of a cell of class machine: overlays of its own over what the machine shows, mounted in the cell's
/// user namespace, so that what is written is written with the cell's rights and nobody else's.
namespace cmcp::sandbox {

/// A folder that has an overlay of its own.
struct machine_layer {
    std::string path;                ///< inside; "/" first, and none before one that it is below
    std::vector<unique_fd> lower{};  ///< detached mounts that are read alone, the first on top
};

/// What the first process of a cell of class machine gets beside the rest of its plan.
struct machine_plan {
    std::vector<machine_layer> layers;
    unique_fd data;             ///< detached mount of the folder at data_path; none: there is none
    unique_fd disk;             ///< detached mount of machine_folder, for what the overlays change
    std::string stage;          ///< where it may mount until it has its root: folders "disk", "0", "1", …
    bool nested = false;        ///< mounts and namespaces of its own
    bool full = false;          ///< the workspace is: it may only be emptied
    std::vector<id_range> ids;  ///< of its user namespace, inside first
};

/// Where in the workspace of a machine its changed files are. Programs inside see an empty folder there.
inline constexpr const char* machine_folder = ".machine";

/// How many mounts a stage has folders for.
inline constexpr int most_staged = 12;

/// The folders in machine_folder of the layer at `path`: what is changed, and a work folder of the kernel's.
std::string upper_folder(const std::string& path);
std::string work_folder(const std::string& path);

/// In the first process, which maps its ids and has not left the old root yet: mounts the overlays and the devices.
/// Gives the new root, attached at root_mount_point. Throws step_failed("mount the machine's root").
unique_fd mount_machine_root(const machine_plan& plan);

}  // namespace cmcp::sandbox
