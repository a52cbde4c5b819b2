#pragma once

#include "launcher/cgroup.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// The groups of a launcher: below each group that the launcher was started in and may divide, in v2 and in each
/// hierarchy of v1, one of its own, in that one for each caller with equal shares of the processors and three quarters
/// of what the launcher's own group may have, and in those the runs'. Removed with the object.
class cgroup_tree {
public:
    explicit cgroup_tree(bool wanted);

    bool holds(std::string_view controller) const { return own_.of(controller) != nullptr; }
    std::string lacking(std::string_view controller) const;  ///< why it holds no run; empty: it does
    /// `number`: no other run has it. `survives`: see run_cgroup.
    run_cgroup make(unsigned number, const std::string& caller, const run_limits& limits, std::uint64_t helpers,
                    bool survives);

private:
    struct caller_groups {
        unsigned number;
        std::weak_ptr<const cgroup_folders> folders;
    };

    void add(const cgroup_path& path);
    std::shared_ptr<const cgroup_folders> of_caller(const std::string& caller);
    unsigned free_number() const;

    std::map<std::string, std::string, std::less<>> lacking_;
    cgroup_folders own_;
    std::map<std::string, caller_groups> callers_;  ///< those with runs
};

}  // namespace cmcp::sandbox
