#pragma once

#include "limits/watchdog.hpp"
#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace cmcp::sandbox {

/// The figures of a run that are wanted.
struct measuring {
    std::uint64_t memory_limit = 0;   ///< bytes; 0: memory and processes are counted elsewhere
    dev_t disk = 0;                   ///< of the workspace
    std::uint64_t written_limit = 0;  ///< bytes, above which files without a name are looked for; 0: nothing written
                                      ///< is measured
    bool ends_largest = false;        ///< above the limit of memory the largest processes are ended
};

/// The figures of a run at one moment.
struct measured {
    usage used;
    std::uint64_t written = 0;      ///< bytes, to files on disk
    std::uint64_t deleted = 0;      ///< bytes of files without a name on the workspace's disk
    std::uint64_t times_ended = 0;  ///< how often so far the largest were
};

/// Processes that were killed. The kernel may take long to clear one away that it was working for, and nobody waits for
/// that: they are looked after again and again.
class killed_processes {
public:
    killed_processes() = default;
    killed_processes(const killed_processes&) = delete;
    killed_processes& operator=(const killed_processes&) = delete;
    ~killed_processes();  ///< waits

    void add(unique_fd pidfd, std::shared_ptr<const void> keeps);  ///< `keeps`: until the process has ended
    void collect();                                                ///< those that have ended
    bool empty() const { return all_.empty(); }

private:
    struct killed {
        unique_fd pidfd;
        std::shared_ptr<const void> keeps;
    };
    std::vector<killed> all_;
};

/// A process that measures one run again and again. What a run makes of its page tables costs time only here, and that
/// is charged to the run's caller.
class measurer {
public:
    /// `settle` is called in the process first. `group`: where that puts it, if anywhere. Throws step_failed.
    measurer(usage_meter& meter, const measuring& what, killed_processes& ended, const std::function<void()>& settle,
             std::shared_ptr<const void> group);
    measurer(const measurer&) = delete;
    measurer& operator=(const measurer&) = delete;
    ~measurer();  ///< kills it, without waiting for its end

    int figures() const { return over_ ? -1 : figures_.get(); }  ///< readable when take() has something
    std::optional<measured> take();                              ///< the latest figures; nothing: none are new
    bool over() const { return over_; }                          ///< it has ended by itself

private:
    killed_processes& ended_;
    std::shared_ptr<const void> group_;
    unique_fd process_;
    unique_fd figures_;
    bool over_ = false;
};

}  // namespace cmcp::sandbox
