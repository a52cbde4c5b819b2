#pragma once

#include "jail/watchdog.hpp"
#include "launcher/workspace_ledger.hpp"
#include "wire/run_request.hpp"

#include <chrono>
#include <string>

namespace cmcp::sandbox {

/// Whether a run fills its workspace beyond what the workspace may hold. Counts are the ledger's; files that a count
/// cannot see (deleted but in use, moved about meanwhile) show as bytes that the run wrote and the disk
/// lost.
class workspace_watch {
public:
    explicit workspace_watch(workspace_ledger& ledger) : ledger_(ledger) {}

    void open(const run_request& request);  ///< throws step_failed; does nothing where the size does not count
    void begin();                           ///< the run begins

    /// The workspace held too much already. The run is not ended for files of others, but may only make room.
    bool began_full() const { return began_full_; }
    bool as_full_as_before() const;  ///< as it was when it was opened

    /// Empty: all is well. Otherwise the sentence for which the run has to end.
    std::string look(const run_limits& limits, std::chrono::steady_clock::time_point begun, usage_meter& meter);
    void note_end(const run_limits& limits);

private:
    bool hides_files(std::uint64_t written, tree_bounds most, const usage_meter& meter);

    workspace_ledger& ledger_;
    unique_fd folder_;  ///< none: its size does not count
    workspace_ledger::key key_{};
    workspace_ledger::room room_at_start_;
    bool began_full_ = false;
    std::uint64_t written_at_count_ = 0;
    std::chrono::steady_clock::time_point search_again_{};
};

}  // namespace cmcp::sandbox
