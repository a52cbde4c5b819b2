#pragma once

#include "cell/local_sockets.hpp"
#include "local/denial.hpp"
#include "local/file_rules.hpp"
#include "local/local_names.hpp"
#include "posix/unique_fd.hpp"

#include <linux/seccomp.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Hears of the calls that the filter of `container-mcp run` announces, in the first process of the sandbox: those that
/// it refuses, those on UNIX sockets, which it carries out, connects, and those by which files are opened or changed.
/// What mounts, Landlock and the missing network will refuse is only reported, because a program may change the
/// arguments meanwhile.
class call_watch {
public:
    using reporter = std::function<void(const denial&)>;

    /// All must outlive this. `has_network`: names have a way out by doors.
    call_watch(unique_fd listener, const file_rules& rules, const local_names& names, std::vector<dev_t> own_memory,
               bool has_network, reporter report);

    int readable() const { return over_ ? -1 : listener_.get(); }
    bool waits() const { return sockets_.waits(); }
    void answer();     ///< the call that waits
    void try_again();  ///< UNIX sockets whose listener had no room

private:
    bool hand_over(const seccomp_notif& call);
    int judge(const seccomp_notif& call);  ///< errno; 0: the kernel goes on with it
    void note_connect(const seccomp_notif& call);
    void note_file(const seccomp_notif& call, std::size_t folder, std::size_t path, bool writes);
    std::string text_at(const seccomp_notif& call, std::uint64_t address) const;
    std::optional<std::string> path_of(const seccomp_notif& call, std::size_t folder, std::size_t path) const;
    void note_refused_sockets();

    unique_fd listener_;
    const file_rules& rules_;
    const local_names& names_;
    local_sockets sockets_;
    bool has_network_;
    bool over_ = false;
    reporter report_;
    std::vector<std::byte> call_, reply_;
};

}  // namespace cmcp::sandbox
