#pragma once

#include "facilities/namespaces.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace cmcp::sandbox {

/// Which ids outside the runs have. With privilege every run in flight has an id of its own (from 200000 on, or from
/// the end of the range that a container was given); without it all are the server's user.
class identities {
public:
    /// The number of one run, free again with the object.
    class lease {
    public:
        lease(identities& owner, unsigned number) : owner_(owner), number_(number) {}
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        ~lease() { owner_.in_use_.erase(number_); }
        unsigned number() const { return number_; }

    private:
        identities& owner_;
        unsigned number_;
    };

    identities();

    bool privileged() const { return privileged_; }
    bool own_range() const { return base_ != 0; }
    id_pair self() const { return self_; }

    /// Moves this process into a mount namespace (and, as an ordinary user, a user namespace) of its own: the machine
    /// never sees the mounts made there, and they end with the process. Throws step_failed.
    void enter_own_namespaces() const;

    lease take();  ///< of a free number; throws step_failed when all are in use
    id_pair outside(unsigned number) const;

    /// A user namespace that shows files of `owner` as files of run `number`. Reused by the next run.
    int mapping(id_pair owner, unsigned number);

    /// Whether cells of class machine have 65,536 ids each; elsewhere they have one, root.
    bool machine_ranges() const { return machine_ranges_; }

    static constexpr unsigned machine_disk = 1'900'000'000;  ///< as machine_owner (wire/run_request.hpp)

    std::vector<id_range> machine_ids(unsigned number) const;  ///< of the machine's user namespace, inside first

    /// User namespaces for the mounts of machine `number`, with privilege: of its own root folder, of files of `owner`,
    /// which root inside owns, and of programs that this machine's root owns.
    int machine_disk_mapping(unsigned number);
    int machine_files_mapping(id_pair owner, unsigned number);
    int machine_programs_mapping(unsigned number);

private:
    bool privileged_ = false;
    unsigned base_ = 0;
    id_pair self_{};
    std::set<unsigned> in_use_;
    std::map<std::tuple<uid_t, gid_t, unsigned>, unique_fd> mappings_;

    int mapping_of(const std::vector<id_range>& ranges);
    bool machine_ranges_ = false;
    std::map<std::vector<id_range>, unique_fd> range_mappings_;
};

}  // namespace cmcp::sandbox
