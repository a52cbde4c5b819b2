#include "launcher/standby_pool.hpp"

#include "jail/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet{1};
constexpr std::chrono::milliseconds longest_quiet{20};
constexpr std::chrono::seconds patience{1};  // of a start, for a run that is being made
constexpr std::size_t shapes_kept = 4;

std::string identity_of(const workspace_root& root, const std::string& workspace)
try {
    if (workspace.empty()) return {};
    const auto [device, inode] = workspace_ledger::key_of(root.open(workspace, O_PATH).get());
    return std::to_string(device) + ':' + std::to_string(inode);
} catch (const step_failed&) {
    return {};
}

// The same text for requests that one standby run can serve. A folder in the place of another is another workspace.
std::string shape_name(const workspace_root& root, const run_request& shape, bool probe)
{
    return encode_start(0, probe, shape) + identity_of(root, shape.workspace);
}

}  // namespace

void refill_pause::run_began()
{
    const auto now = std::chrono::steady_clock::now();
    if (at_ == steady_time::max()) latest_ = now + longest_quiet;
    at_ = now + quiet;
}

void refill_pause::soon() { at_ = std::min(at_, std::chrono::steady_clock::now() + quiet); }

bool refill_pause::over(steady_time now, std::size_t running, bool none_left)
{
    static const auto processors = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    if (now < at_) return false;
    const std::size_t most = none_left ? processors : 1;
    const bool waits = running >= most && now < latest_;
    at_ = waits ? now + quiet : steady_time::max();
    return !waits;
}

run_request shape_of(run_request request)
{
    request.working_dir.clear();
    request.data_libraries = false;
    request.limits.wall = std::chrono::hours(24);
    request.limits.cpu = std::chrono::seconds(0);
    return request;
}

bool standby_pool::take(start_message& start, std::vector<unique_fd>& descriptors)
{
    const auto request = shape_for(start);
    if (!request) return false;
    std::string shape = shape_name(keeper_.parts().root, *request, start.probe);
    if (!start.probe) {
        wanted_shape_ = shape;
        wanted_ = *request;
    }
    if (hand_over(shape, start, descriptors)) return true;
    if (starts_wait_ && (count(shape) > queued_for(shape) || make(shape, *request, start.probe))) {
        const auto now = std::chrono::steady_clock::now();
        queue_.push_back({std::move(shape), std::move(start), std::move(descriptors), now});
        return true;
    }
    refill_.run_began();
    return false;
}

bool standby_pool::cancel(std::uint64_t id)
{
    return std::erase_if(queue_, [id](const queued_start& each) { return each.start.id == id; }) != 0;
}

std::vector<standby_pool::standby_run>::iterator standby_pool::at(std::uint64_t key)
{
    return std::find_if(runs_.begin(), runs_.end(), [key](const standby_run& each) { return each.key == key; });
}

bool standby_pool::forget(std::uint64_t key)
{
    const auto place = at(key);
    if (place == runs_.end()) return false;
    runs_.erase(place);
    return true;
}

void standby_pool::heard_of(std::uint64_t key)
{
    const auto place = at(key);
    if (place == runs_.end() || !keeper_.find(key)->stands_by()) return;
    place->ready = true;
    const std::string shape = place->shape;
    const auto first =
        std::find_if(queue_.begin(), queue_.end(), [&](const queued_start& each) { return each.shape == shape; });
    if (first == queue_.end()) return;
    queued_start next = std::move(*first);
    queue_.erase(first);
    if (!begin(key, next.start, next.descriptors))
        keeper_.start_cold(std::move(next.start), std::move(next.descriptors));
}

void standby_pool::lost(std::uint64_t key, const std::string& why)
{
    const auto place = at(key);
    if (place == runs_.end()) return;
    const standby_run gone = std::move(*place);
    runs_.erase(place);
    if (!why.empty()) ++losses_;
    start_queued_cold(gone.shape);
    note_loss(gone.ready, why);
}

void standby_pool::start_queued_cold(const std::string& shape)
{
    std::deque<queued_start> queue;
    queue.swap(queue_);
    for (queued_start& each : queue) {
        if (shape.empty() || each.shape == shape)
            keeper_.start_cold(std::move(each.start), std::move(each.descriptors));
        else
            queue_.push_back(std::move(each));
    }
}

bool standby_pool::hand_over(const std::string& shape, const start_message& start,
                             const std::vector<unique_fd>& descriptors)
{
    const auto serves = [&](const standby_run& each) { return each.ready && each.shape == shape; };
    for (;;) {
        const auto place = std::find_if(runs_.begin(), runs_.end(), serves);
        if (place == runs_.end()) return false;
        if (begin(place->key, start, descriptors)) return true;
    }
}

// The run stands by no longer, whether it begins or not.
bool standby_pool::begin(std::uint64_t key, const start_message& start, const std::vector<unique_fd>& descriptors)
{
    forget(key);
    run* const standby = keeper_.find(key);
    try {
        const cell& in = standby->in();
        if (!in.has_view_of(start.request) || !in.has_workspace_of(start.request) || !in.is_as_full_as_before())
            throw step_failed("find the workspace as it was", ESTALE);
        standby->begin(start, descriptors);
    } catch (const std::exception&) {
        standby->kill(cause::cancelled);
        return false;
    }
    refill_.run_began();
    losses_ = 0;
    return true;
}

bool standby_pool::make(const std::string& shape, const run_request& request, bool probe)
try {
    if (!can_make()) return false;
    const std::uint64_t key = keeper_.next_key();
    auto standby = std::make_unique<run>(keeper_.parts(), request, probe);
    if (!launch(key, *standby)) return false;
    keeper_.keep(key, std::move(standby));
    runs_.push_back({key, shape, false});
    return true;
} catch (const std::exception&) {
    return false;  // the cold start meets the same obstacle and explains it
}

steady_time standby_pool::next_event() const
{
    const auto overdue = queue_.empty() ? steady_time::max() : queue_.front().since + patience;
    return std::min(refill_.next(), overdue);
}

void standby_pool::look(steady_time now, std::size_t running)
{
    if (!queue_.empty() && now >= queue_.front().since + patience) start_queued_cold({});
    if (refill_.over(now, running, count(wanted_shape_) == 0)) refill();
}

void standby_pool::refill()
{
    if (wanted_shape_.empty()) return;
    while (count(wanted_shape_) < each_ + queued_for(wanted_shape_))
        if (!make(wanted_shape_, wanted_, false)) break;
    trim();
}

std::size_t standby_pool::count(const std::string& shape) const
{
    const auto serves = [&](const standby_run& each) { return each.shape == shape; };
    return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), serves));
}

std::size_t standby_pool::queued_for(const std::string& shape) const
{
    const auto wants = [&](const queued_start& each) { return each.shape == shape; };
    return static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), wants));
}

// Ends the runs that have stood by longest for other shapes, where there are more than four shapes' worth. The last run
// of a shape goes only when each shape has no more, so that callers in turn still find one each.
void standby_pool::trim()
{
    for (const std::size_t left : {1, 0}) {
        for (std::size_t i = 0; i < runs_.size() && runs_.size() > shapes_kept * each_;) {
            const standby_run& oldest = runs_[i];
            if (!oldest.ready || oldest.shape == wanted_shape_ || count(oldest.shape) <= left) {
                ++i;
                continue;
            }
            keeper_.find(oldest.key)->kill(cause::cancelled);
            runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

}  // namespace cmcp::sandbox
