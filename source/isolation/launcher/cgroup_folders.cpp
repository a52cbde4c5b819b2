#include "launcher/cgroup_folders.hpp"

#include "facilities/setup_step.hpp"
#include "limits/cgroup_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cmcp::sandbox {
namespace {

// A group of that name could not be removed with its run, because the end of a process takes its time.
void make_anew(const std::filesystem::path& folder)
{
    if (errno == EEXIST) remove_group(folder);
    check(::mkdir(folder.c_str(), 0755), "make the cgroup");
}

}  // namespace

// Delegates, so that a failure removes what was made before it.
cgroup_folders::cgroup_folders(const std::vector<cgroup_path>& parents, const std::string& name) : cgroup_folders()
{
    for (const cgroup_path& each : parents) {
        cgroup_path group{each.folder / name, each.unified, each.controllers};
        if (::mkdir(group.folder.c_str(), 0755) != 0) make_anew(group.folder);
        all_.push_back(std::move(group));
    }
}

cgroup_folders& cgroup_folders::operator=(cgroup_folders&& other) noexcept
{
    std::swap(all_, other.all_);
    return *this;
}

void cgroup_folders::add(cgroup_folders other)
{
    all_.insert(all_.end(), other.all_.begin(), other.all_.end());
    other.all_.clear();
}

cgroup_folders::~cgroup_folders()
{
    for (const cgroup_path& each : all_) ::rmdir(each.folder.c_str());
}

const cgroup_path* cgroup_folders::of(std::string_view controller) const
{
    const auto has = [&](const cgroup_path& each) { return each.controls(controller); };
    const auto at = std::find_if(all_.begin(), all_.end(), has);
    return at == all_.end() ? nullptr : &*at;
}

// Empty: no group here has such a file.
std::filesystem::path cgroup_folders::path_of(const control_file& file) const
{
    const cgroup_path* const group = of(file.controller);
    const char* const name = group != nullptr ? file.name_in(*group) : nullptr;
    return name != nullptr ? group->folder / name : std::filesystem::path();
}

bool cgroup_folders::set(const control_file& file, std::uint64_t value) const
{
    const auto group = path_of(file);
    return group.empty() || write_control(group, std::to_string(value));
}

void cgroup_folders::must_set(const control_file& file, std::uint64_t value) const
{
    if (!set(file, value)) throw step_failed("limit the cgroup: " + std::string(file.controller));
}

std::uint64_t cgroup_folders::figure(const control_file& file) const
{
    const auto group = path_of(file);
    return group.empty() ? 0 : number_in(group);
}

std::uint64_t cgroup_folders::events(const control_file& file, const std::string& event) const
{
    const auto group = path_of(file);
    return group.empty() ? 0 : number_in(group, event);
}

}  // namespace cmcp::sandbox
