#include "facilities/identities.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace cmcp::sandbox {
namespace {

constexpr unsigned most_runs = 1024;
constexpr unsigned wanted_base = 200'000;
constexpr std::size_t most_mappings = 256;

bool has_capability(unsigned number)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (::syscall(SYS_capget, &header, data) != 0) return false;
    return (data[number / 32].effective >> (number % 32) & 1u) != 0;
}

bool has_needed_capabilities()
{
    return ::geteuid() == 0 && has_capability(CAP_SYS_ADMIN) && has_capability(CAP_SETUID) &&
           has_capability(CAP_SETGID) && has_capability(CAP_CHOWN);
}

// First id of a free range that `map` (uid_map or gid_map of this process) gives, or 0.
unsigned range_in(const char* map)
{
    std::ifstream lines(map);
    unsigned best = 0;
    for (std::uint64_t inside, outside, count; lines >> inside >> outside >> count;) {
        if (inside <= wanted_base && inside + count >= wanted_base + most_runs) return wanted_base;
        // The end of a container's range, away from the users it has and from 65534.
        if (count > 4 * most_runs) best = static_cast<unsigned>(inside + count - 2 * most_runs);
    }
    return best;
}

constexpr unsigned ids_of_machine = 65'536;

unsigned first_of_machine(unsigned number) { return identities::machine_disk + ids_of_machine * (number + 1); }

bool gives(const char* map, unsigned first, std::uint64_t ids)
{
    std::ifstream lines(map);
    for (std::uint64_t inside, outside, count; lines >> inside >> outside >> count;)
        if (inside <= first && inside + count >= first + ids) return true;
    return false;
}

}  // namespace

identities::identities() : privileged_(has_needed_capabilities()), self_{::geteuid(), ::getegid()}
{
    if (!privileged_) return;
    const unsigned users = range_in("/proc/self/uid_map");
    const unsigned groups = range_in("/proc/self/gid_map");
    if (users != 0 && users == groups) base_ = users;
    constexpr std::uint64_t of_machines = std::uint64_t{ids_of_machine} * (most_runs + 1);
    machine_ranges_ = base_ != 0 && gives("/proc/self/uid_map", machine_disk, of_machines) &&
                      gives("/proc/self/gid_map", machine_disk, of_machines);
}

void identities::enter_own_namespaces() const
{
    check(::unshare(CLONE_NEWNS | (privileged_ ? 0 : CLONE_NEWUSER)),
          privileged_ ? "mount namespace" : "user namespace");
    if (!privileged_) {
        ::prctl(PR_SET_DUMPABLE, 1);
        write_id_maps("self", self_, self_, true);
        ::prctl(PR_SET_DUMPABLE, 0);
    }
    keep_mounts_private();
}

identities::lease identities::take()
{
    unsigned number = 0;
    for (const unsigned used : in_use_) {
        if (used != number) break;
        ++number;
    }
    if (number >= most_runs) throw step_failed("take a user id", EAGAIN);
    in_use_.insert(number);
    return {*this, number};
}

id_pair identities::outside(unsigned number) const
{
    return own_range() ? id_pair{base_ + number, base_ + number} : self_;
}

int identities::mapping(id_pair owner, unsigned number)
{
    const auto key = std::make_tuple(owner.user, owner.group, number);
    if (const auto known = mappings_.find(key); known != mappings_.end()) return known->second.get();
    if (mappings_.size() >= most_mappings) mappings_.clear();
    unique_fd mapped = make_mapping_namespace(owner, outside(number));
    return mappings_.emplace(key, std::move(mapped)).first->second.get();
}

int identities::mapping_of(const std::vector<id_range>& ranges)
{
    if (const auto known = range_mappings_.find(ranges); known != range_mappings_.end()) return known->second.get();
    if (range_mappings_.size() >= most_mappings) range_mappings_.clear();
    unique_fd mapped = make_mapping_namespace(ranges);
    return range_mappings_.emplace(ranges, std::move(mapped)).first->second.get();
}

std::vector<id_range> identities::machine_ids(unsigned number) const
{
    if (machine_ranges_) return {{0, first_of_machine(number), ids_of_machine}};
    return {{0, outside(number).user, 1}};
}

int identities::machine_disk_mapping(unsigned number)
{
    return mapping_of({{machine_disk, first_of_machine(number), ids_of_machine}});
}

int identities::machine_files_mapping(id_pair owner, unsigned number)
{
    if (!machine_ranges_ || owner.user != owner.group) return mapping(owner, number);
    // A program inside may have given the folder to any account of the machine.
    if (owner.user >= machine_disk && owner.user - machine_disk < ids_of_machine) return machine_disk_mapping(number);
    return mapping_of({{owner.user, first_of_machine(number), 1},
                       {machine_disk + 1, first_of_machine(number) + 1, ids_of_machine - 1}});
}

int identities::machine_programs_mapping(unsigned number)
{
    if (!machine_ranges_) return mapping({0, 0}, number);
    return mapping_of({{0, first_of_machine(number), ids_of_machine}});
}

}  // namespace cmcp::sandbox
