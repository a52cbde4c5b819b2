#include "launcher/machine_disk.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/machine_root.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cmcp::sandbox {
namespace {

constexpr const char* disk_step = "open the machine's changes";

unique_fd open_disk_folder(int above, const std::string& name)
{
    constexpr int folder_only = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    return unique_fd(check(::openat(above, name.c_str(), folder_only), disk_step));
}

// One that is there already may belong to another range, as after a move from a server of another kind.
unique_fd make_folder(int above, const std::string& name, const std::optional<id_pair>& owner)
{
    const bool is_new = ::mkdirat(above, name.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST) throw step_failed(disk_step);
    unique_fd folder = open_disk_folder(above, name);
    if (owner) check(::fchown(folder.get(), owner->user, owner->group), disk_step);
    if (is_new) check(::fchmod(folder.get(), 0755), disk_step);  // whatever the umask is
    return folder;
}

}  // namespace

unique_fd open_machine_disk(int workspace, std::optional<id_pair> owner, const std::vector<shown_layer>& layers)
{
    const unique_fd inside(check(::openat(workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), disk_step));
    const unique_fd disk = make_folder(inside.get(), machine_folder, owner);
    for (const shown_layer& layer : layers)
        for (const std::string& name : {upper_folder(layer.path), work_folder(layer.path)})
            make_folder(disk.get(), name, owner);
    unique_fd mount = copy_mount(disk.get(), "", disk_step);
    set_mount_attributes(mount.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false, disk_step);
    return mount;
}

}  // namespace cmcp::sandbox
