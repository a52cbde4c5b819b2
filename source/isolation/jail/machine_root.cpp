#include "jail/machine_root.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/run_rules.hpp"
#include "wire/launcher_options.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

constexpr const char* machine_step = "mount the machine's root";

std::string flat_name(const std::string& path)
{
    std::string name = path == "/" ? "root" : path.substr(1);
    for (char& each : name)
        if (each == '/') each = '-';
    return name;
}

// Programs may have put links there while the machine was off: the kernel follows none of them.
unique_fd open_plain_folder(int beneath, const std::string& name)
{
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
    return unique_fd(
        static_cast<int>(check(::syscall(SYS_openat2, beneath, name.c_str(), &how, sizeof how), machine_step)));
}

std::string way_to(const unique_fd& folder) { return "/proc/self/fd/" + std::to_string(folder.get()); }

// The kernel makes a folder there that nobody may enter, not even to copy the sandbox.
void open_work_folder(const unique_fd& work)
{
    if (::fchmodat(work.get(), "work", 0700, 0) != 0 && errno != ENOENT) throw step_failed(machine_step);
}

class staged_overlays {
public:
    explicit staged_overlays(const machine_plan& plan) : plan_(plan)
    {
        attach_mount(plan.disk.get(), AT_FDCWD, plan.stage + "/disk", machine_step);
    }

    unique_fd mount(const machine_layer& layer)
    {
        const unique_fd upper = open_plain_folder(plan_.disk.get(), upper_folder(layer.path));
        const unique_fd work = open_plain_folder(plan_.disk.get(), work_folder(layer.path));
        writable_overlay of{{}, way_to(upper), way_to(work)};
        // Kernels before 6.15 show no detached mount in an overlay.
        for (const unique_fd& lower : layer.lower) {
            if (next_ == most_staged) throw step_failed(machine_step, ENOSPC);
            attach_mount(lower.get(), AT_FDCWD, plan_.stage + "/" + std::to_string(next_++), machine_step);
            of.lower.push_back(way_to(lower));
        }
        unique_fd overlay = new_writable_overlay(of, machine_step);
        open_work_folder(work);
        return overlay;
    }

private:
    const machine_plan& plan_;
    int next_ = 0;
};

void mount_devices(int root)
{
    for (const std::string device : run_devices) {
        const auto copy = copy_mount_tree(AT_FDCWD, device, "show " + device);
        set_mount_attributes(copy.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, true, "protect " + device);
        attach_mount(copy.get(), root, device.substr(1), "mount " + device);
    }
}

}  // namespace

std::string upper_folder(const std::string& path) { return flat_name(path); }

std::string work_folder(const std::string& path) { return flat_name(path) + ".work"; }

unique_fd mount_machine_root(const machine_plan& plan)
{
    staged_overlays stage(plan);
    std::vector<unique_fd> overlays;
    for (const machine_layer& layer : plan.layers) overlays.push_back(stage.mount(layer));
    if (overlays.empty()) throw step_failed(machine_step, EINVAL);
    unique_fd root = std::move(overlays.front());
    attach_mount(root.get(), AT_FDCWD, root_mount_point, machine_step);
    for (std::size_t i = 1; i < overlays.size(); ++i)
        attach_mount(overlays[i].get(), root.get(), plan.layers[i].path.substr(1), machine_step);
    if (plan.data) attach_mount(plan.data.get(), root.get(), std::string(data_path).substr(1), "mount /data");
    mount_devices(root.get());
    return root;
}

}  // namespace cmcp::sandbox
