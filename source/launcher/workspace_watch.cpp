#include "launcher/workspace_watch.hpp"

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::uint64_t uncounted_share = 8 << 20;  // what a run may write before its workspace is counted
constexpr std::chrono::milliseconds pause_between_searches{100};

}  // namespace

void workspace_watch::open(const run_request& request)
{
    folder_ = open_bounded_workspace(request);
    if (!folder_) return;
    key_ = workspace_ledger::key_of(folder_.get());
    began_full_ = ledger_.last_finding(key_) != workspace_ledger::finding::fits;
    begin();
}

void workspace_watch::begin()
{
    if (folder_) room_at_start_ = workspace_ledger::free_room(folder_.get());
}

bool workspace_watch::as_full_as_before() const
{
    return !folder_ || began_full_ == (ledger_.last_finding(key_) != workspace_ledger::finding::fits);
}

std::string workspace_watch::look(const run_limits& limits, std::chrono::steady_clock::time_point begun,
                                  usage_meter& meter)
{
    using finding = workspace_ledger::finding;
    if (!folder_ || began_full_) return {};
    const tree_bounds most = workspace_bounds(limits);
    // The run's own writing counts as well, because others may make room on the disk meanwhile.
    const std::uint64_t written = meter.written();
    const bool wrote_much = written > written_at_count_ + uncounted_share;
    if (wrote_much) written_at_count_ = written;
    finding state = ledger_.look(key_, folder_.get(), most, begun, wrote_much);
    if (state == finding::fits && hides_files(written, most, meter)) state = finding::too_large;
    return state == finding::fits ? std::string() : explain_full(state, limits);
}

// Whether the disk fills although a count finds nothing: the files are deleted but in use, or were moved about under
// it.
bool workspace_watch::hides_files(std::uint64_t written, tree_bounds most, const usage_meter& meter)
{
    if (written <= most.bytes) return false;
    const std::uint64_t free_now = workspace_ledger::free_room(folder_.get()).bytes;
    const std::uint64_t lost = room_at_start_.bytes > free_now ? room_at_start_.bytes - free_now : 0;
    // Only the run's own writing is held against it, because others use the disk, too.
    if (std::min(lost, written) / 4 > most.bytes) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now < search_again_) return false;
    search_again_ = now + pause_between_searches;
    return meter.deleted(key_.first) + ledger_.counted(key_) > most.bytes;
}

void workspace_watch::note_end(const run_limits& limits)
{
    if (folder_) ledger_.note_end(key_, folder_.get(), workspace_bounds(limits));
}

}  // namespace cmcp::sandbox
