#include "launcher/workspace_ledger.hpp"

#include "facilities/setup_step.hpp"
#include "limits/project_quota.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/vfs.h>

#include <algorithm>
#include <limits>

namespace cmcp::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_entries = 1024;
constexpr std::uint64_t most_slack = 16ull << 20;
constexpr std::uint64_t least_slack = 1ull << 20;
constexpr std::uint64_t most_slack_in_files = 2000;
constexpr auto still_fresh = 200ms;
constexpr auto shortest_pause = 20ms;
constexpr auto good_for = 250ms;
constexpr std::uint64_t uncounted_share = 8 << 20;  // what a run may write before its workspace is counted

workspace_ledger::finding judge_count(const tree_usage& usage, tree_bounds most)
{
    if (usage.bytes > most.bytes) return workspace_ledger::finding::too_large;
    if (usage.files > most.files) return workspace_ledger::finding::too_many;
    return usage.complete ? workspace_ledger::finding::fits : workspace_ledger::finding::too_deep;
}

// The sentence for the caller of a run that was ended for `why`.
std::string explain_full(workspace_ledger::finding why, const run_limits& limits)
{
    using finding = workspace_ledger::finding;
    const std::string rest = " Delete what is not needed any more; until then runs may only delete there.";
    if (why == finding::too_deep) return "the folders of the sandbox are nested too deeply to be counted." + rest;
    if (why == finding::too_many)
        return "the working folder holds more files than the limit of " + std::to_string(limits.workspace_files) +
               " (SANDBOX_WORKSPACE_MAX_FILES)." + rest;
    return "the working folder holds more than the limit of " + std::to_string(limits.workspace_size >> 20) +
           " MiB (SANDBOX_WORKSPACE_MAX_MB, SANDBOX_DISK_QUOTA)." + rest;
}

}  // namespace

workspace_ledger::workspace_ledger() : poll_(check(::epoll_create1(EPOLL_CLOEXEC), "make the event loop")) {}

workspace_ledger::key workspace_ledger::key_of(int folder)
{
    struct stat status {};
    check(::fstat(folder, &status), "open workspace");
    return {status.st_dev, status.st_ino};
}

workspace_ledger::entry& workspace_ledger::at(key which)
{
    if (entries_.size() >= most_entries && !entries_.contains(which)) forget_oldest();
    entry& used = entries_[which];
    used.order = ++uses_;
    return used;
}

void workspace_ledger::forget_oldest()
{
    const auto older = [](const auto& a, const auto& b) { return a.second.order < b.second.order; };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), older));
}

workspace_ledger::room workspace_ledger::free_room(int folder)
{
    struct statfs status {};
    if (::fstatfs(folder, &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize), status.f_ffree};
}

// Half of the room that is left, so that the last step before the limit is a small one.
std::uint64_t workspace_ledger::slack(const entry& of, tree_bounds most)
{
    const std::uint64_t used = of.last ? of.last->bytes : 0;
    const std::uint64_t left = most.bytes > used ? most.bytes - used : 0;
    return std::clamp(left / 2, least_slack, most_slack);
}

bool workspace_ledger::is_due(const entry& of, int folder, tree_bounds most) const
{
    if (of.counting) return false;
    if (!of.last) return true;
    // A tree that takes long to count is counted less often: a tenth of one processor at most.
    if (clock::now() - of.ended < std::max<clock::duration>(shortest_pause, 10 * (of.ended - of.begun))) return false;
    const room now = free_room(folder);
    const bool lost_bytes = now.bytes + slack(of, most) < of.then.bytes;
    return lost_bytes || now.files + std::min(most.files / 8, most_slack_in_files) < of.then.files ||
           of.state != finding::fits || of.wanted;
}

// Where no process can be made to count, the next look tries again.
void workspace_ledger::begin(entry& of, int folder, tree_bounds most, std::uint32_t project)
try {
    of.then = free_room(folder);
    of.begun = clock::now();
    of.wanted = of.touched = false;
    of.most = most;
    of.project = project;
    of.counting = std::make_unique<tree_count>(folder, most, project);
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, of.counting->answer(), &event);
} catch (const step_failed&) {
    of.wanted = true;
}

void workspace_ledger::finish(entry& of)
{
    of.last = of.counting->take();
    of.state = judge_count(*of.last, of.most);
    of.no_project = of.project != 0 && !of.last->in_project;
    of.project = 0;
    of.ended = clock::now();
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, of.counting->answer(), nullptr);  // clones of the launcher have copies
    of.counting.reset();
}

void workspace_ledger::collect()
{
    for (auto& [which, each] : entries_) {
        if (!each.counting) continue;
        pollfd answer{each.counting->answer(), POLLIN, 0};
        if (::poll(&answer, 1, 0) == 1) finish(each);
    }
}

std::uint32_t workspace_ledger::wanted_project(const entry& of, int folder)
{
    return of.counting || of.no_project ? 0 : free_project(folder);
}

// Where a run has ended since the count, a run that starts now would be ended for what others wrote before it, even if
// it is to make room. The disk's free room shows most of that, unless others make room on the disk at the same time;
// with little room left each run may have filled it.
bool workspace_ledger::may_be_full(const entry& of, int folder, tree_bounds most)
{
    if (!of.touched || !of.last) return false;
    const std::uint64_t left = most.bytes - std::min(most.bytes, of.last->bytes);
    return left < least_slack || free_room(folder).bytes + left < of.then.bytes;
}

bool workspace_ledger::must_wait(key which, int folder, tree_bounds most)
{
    entry& of = at(which);
    if (const auto project = wanted_project(of, folder)) begin(of, folder, most, project);
    if (of.state == finding::fits) {
        if (of.counting && of.project != 0) return true;
        if (!may_be_full(of, folder, most)) return false;
        if (!of.counting) begin(of, folder, most);
        return of.counting != nullptr;
    }
    if (of.counting) return true;
    if (!of.touched && clock::now() - of.ended < still_fresh) return false;
    begin(of, folder, most);
    return of.counting != nullptr;
}

workspace_ledger::finding workspace_ledger::last_finding(key which) const
{
    const auto known = entries_.find(which);
    return known == entries_.end() ? finding::fits : known->second.state;
}

std::uint64_t workspace_ledger::counted(key which) const
{
    const auto known = entries_.find(which);
    return known == entries_.end() || !known->second.last ? 0 : known->second.last->bytes;
}

workspace_ledger::finding workspace_ledger::measure(key which, int folder, tree_bounds most, clock::time_point since,
                                                    bool wanted)
{
    entry& of = at(which);
    of.wanted |= wanted;
    // A finding counts before the next count begins: a quick one would else hide each finding with the next.
    const bool about_this_run = of.last && of.begun >= since && !of.counting;
    if (about_this_run && of.state != finding::fits) return of.state;
    if (is_due(of, folder, most)) begin(of, folder, most);
    return finding::fits;
}

// Free room says little after a while, because others may make room on the disk while runs fill the workspace.
bool workspace_ledger::is_old(const entry& of)
{
    return !of.counting && clock::now() - of.ended > std::max<clock::duration>(good_for, 20 * (of.ended - of.begun));
}

void workspace_ledger::note_end(key which, int folder, tree_bounds most)
{
    entry& of = at(which);
    if (is_due(of, folder, most) || is_old(of)) begin(of, folder, most);
}

void workspace_ledger::note_run(key which, int folder, tree_bounds most)
{
    at(which).touched = true;
    note_end(which, folder, most);
}

tree_bounds workspace_bounds(const run_limits& limits)
{
    const auto bound = [](std::uint64_t limit) {
        return limit != 0 ? limit : std::numeric_limits<std::uint64_t>::max();
    };
    return {bound(limits.workspace_size), bound(limits.workspace_files)};
}

bool bounds_workspace(const run_limits& limits) { return limits.workspace_size != 0 || limits.workspace_files != 0; }

void workspace_watch::open(int folder, const run_limits& limits)
{
    if (!bounds_workspace(limits)) return;
    folder_.reset(check(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open workspace"));
    key_ = workspace_ledger::key_of(folder_.get());
    began_full_ = ledger_.last_finding(key_) != workspace_ledger::finding::fits;
}

void workspace_watch::begin()
{
    if (folder_) room_at_start_ = workspace_ledger::free_room(folder_.get());
}

void workspace_watch::bound(const run_limits& limits)
{
    project_ = folder_ ? project_of(folder_.get()) : 0;
    if (project_ != 0) bound_project(folder_.get(), project_, workspace_bounds(limits));
}

std::string workspace_watch::refusal(const run_limits& limits) const
{
    if (began_full_) return "writing to the working folder, which is full: only deleting works in it";
    if (project_ == 0 || !is_full(folder_.get(), project_)) return {};
    return "writing to the working folder, which has reached its limit of " +
           std::to_string(limits.workspace_size >> 20) + " MiB and " + std::to_string(limits.workspace_files) +
           " files (SANDBOX_WORKSPACE_MAX_MB, _FILES; SANDBOX_DISK_QUOTA): delete files first";
}

bool workspace_watch::as_full_as_before() const
{
    return !folder_ || began_full_ == (ledger_.last_finding(key_) != workspace_ledger::finding::fits);
}

std::string workspace_watch::became_full(const run_limits& limits) const
{
    if (!counts() || as_full_as_before()) return {};
    return explain_full(ledger_.last_finding(key_), limits);
}

bool workspace_watch::may_have_grown(std::chrono::steady_clock::time_point begun) const
{
    if (std::chrono::steady_clock::now() - begun >= good_for) return true;
    return workspace_ledger::free_room(folder_.get()).bytes + least_slack < room_at_start_.bytes;
}

std::string workspace_watch::measure(const run_limits& limits, std::chrono::steady_clock::time_point begun,
                                     const measured& now)
{
    using finding = workspace_ledger::finding;
    if (!counts()) return {};
    const tree_bounds most = workspace_bounds(limits);
    // The run's own writing counts as well, because others may make room on the disk meanwhile.
    const bool wrote_much = now.written > written_at_count_ + uncounted_share;
    if (wrote_much) written_at_count_ = now.written;
    finding state = ledger_.measure(key_, folder_.get(), most, begun, wrote_much);
    if (state == finding::fits && hides_files(now, most)) state = finding::too_large;
    return state == finding::fits ? std::string() : explain_full(state, limits);
}

// Whether the disk fills although a count finds nothing: the files are deleted but in use, or were moved about under
// it.
bool workspace_watch::hides_files(const measured& now, tree_bounds most) const
{
    if (now.written <= most.bytes) return false;
    const std::uint64_t free_now = workspace_ledger::free_room(folder_.get()).bytes;
    const std::uint64_t lost = room_at_start_.bytes > free_now ? room_at_start_.bytes - free_now : 0;
    // Only the run's own writing is held against it, because others use the disk, too.
    if (std::min(lost, now.written) / 4 > most.bytes) return true;
    return now.deleted + ledger_.counted(key_) > most.bytes;
}

// The room that is left is as old as the last count. A little is always allowed, because the limit of the kernel holds
// in /tmp, too.
std::uint64_t workspace_watch::largest_file(const run_limits& limits) const
{
    constexpr std::uint64_t least = 1ull << 20;
    if (!counts() || project_ != 0 || limits.workspace_size == 0) return std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t counted = ledger_.counted(key_);
    return std::max(least, limits.workspace_size - std::min(limits.workspace_size, counted));
}

void workspace_watch::note_run(const run_limits& limits)
{
    if (folder_) ledger_.note_run(key_, folder_.get(), workspace_bounds(limits));
}

void workspace_watch::note_end(const run_limits& limits)
{
    if (folder_) ledger_.note_end(key_, folder_.get(), workspace_bounds(limits));
}

}  // namespace cmcp::sandbox
