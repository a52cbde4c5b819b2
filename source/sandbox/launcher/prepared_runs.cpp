#include "prepared_runs.hpp"

#include "jsonrpc/json.hpp"
#include "sandbox/setup_step.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet{2};          // without a run in flight, before children are made in advance
constexpr std::chrono::milliseconds longest_quiet{20};
constexpr std::chrono::seconds patience{1};            // for a child that was asked for
constexpr int most_failures = 3;
constexpr std::size_t shapes_kept = 4;                 // children of so many callers wait at most

// What of a request is settled before its run begins. The rest is handed over with the code.
run_request shape_of(run_request request)
{
    request.working_dir.clear();
    request.limits.wall = std::chrono::hours(24);
    request.limits.cpu = std::chrono::seconds(0);
    return request;
}

// A folder that was put in the place of another is another workspace.
std::string identity_of(const std::string& folder)
{
    struct stat status{};
    if (folder.empty() || ::stat(folder.c_str(), &status) != 0) return {};
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

}  // namespace

prepared_runs::prepared_runs(run_keeper& keeper, zygote_options options) : keeper_(keeper), options_(std::move(options))
{
    active_ = start_zygote();
    active_number_ = last_number_;
    tell_state();
}

std::unique_ptr<zygote> prepared_runs::start_zygote()
try {
    const workshop shop = keeper_.shop();
    const zygote_setup setup{options_.profile, shop.filters.memory_is_counted, shop.with_time_namespace};
    auto started = std::make_unique<zygote>(options_, setup);
    keeper_.watch(started->socket(), first_tag + ++last_number_);
    return started;
} catch (const std::exception& failure) {
    obstacle_ = failure.what();
    return nullptr;
}

bool prepared_runs::stands_in_for(const run_request& request) const
{
    const auto& model = options_.model;
    return request.prepared && request.argv == model.argv && request.environment == model.environment &&
           request.workspace_inside == model.workspace_inside;
}

bool prepared_runs::take(start_message& start, std::vector<unique_fd>& descriptors)
{
    if (!active_ || !active_ready_ || !stands_in_for(start.request)) return false;
    run_request request = shape_of(start.request);
    std::string shape = encode_start(0, start.probe, request) + identity_of(request.workspace);
    if (!start.probe) {
        wanted_shape_ = shape;
        wanted_ = request;
    }
    while (const auto key = waiting_for(shape))
        if (hand_over(*key, start, descriptors)) return true;
    if (count(shape) <= queued_for(shape) && !order(shape, request, start.probe)) return false;
    queue_.push_back({std::move(shape), std::move(start), std::move(descriptors), std::chrono::steady_clock::now()});
    return true;
}

bool prepared_runs::cancel(std::uint64_t id)
{
    return std::erase_if(queue_, [id](const queued& each) { return each.start.id == id; }) != 0;
}

bool prepared_runs::order(const std::string& shape, const run_request& request, bool probe)
try {
    if (clones_ >= options_.runs) return false;
    const std::uint64_t key = ++last_key_;
    workshop shop = keeper_.shop();
    auto made = std::make_unique<run>(shop, key, request, probe);
    if (!active_->order(made->clone_descriptors())) return false;
    keeper_.keep(key, std::move(made));
    ordered_.push_back(key);
    children_.push_back({key, shape, false});
    if (++clones_ >= options_.runs) refill_at_ = std::min(refill_at_, std::chrono::steady_clock::now() + quiet);
    return true;
} catch (const std::exception&) {
    return false;   // the cold start meets the same obstacle and explains it
}

void prepared_runs::handle(std::uint64_t tag)
{
    const bool from_active = tag == first_tag + active_number_;
    for (;;) {
        const auto& speaker = from_active ? active_ : next_;
        auto said = speaker ? speaker->hear() : std::nullopt;
        if (!said) return;
        hear(std::move(*said), from_active);
    }
}

void prepared_runs::hear(zygote::news said, bool from_active)
{
    if (said.what == zygote_says::ready) {
        (from_active ? active_ready_ : next_ready_) = true;
        (from_active ? about_ : about_next_) = said.text;
        if (from_active) tell_state();
        else refill_at_ = std::chrono::steady_clock::now();
    } else if (said.what == zygote_says::cloned) {
        attach(std::move(said.child));
    } else if (said.what == zygote_says::refused && !ordered_.empty()) {
        const std::uint64_t key = ordered_.front();
        ordered_.pop_front();
        keeper_.drop(key);
        lost(key, explain_setup_failure("clone", said.error));
    } else if (said.what == zygote_says::failed) {
        (from_active ? active_ : next_).reset();
        if (from_active) turn_off(said.text);
        else obstacle_ = said.text;
    }
}

void prepared_runs::attach(cloned made)
{
    if (ordered_.empty() || !made.pidfd) return;
    const std::uint64_t key = ordered_.front();
    ordered_.pop_front();
    run* const owner = keeper_.find(key);
    try {
        owner->attach(std::move(made));
        keeper_.watch_run(key);
        if (next_ready_) refill_at_ = std::chrono::steady_clock::now();
    } catch (const std::exception& failure) {
        keeper_.drop(key);
        lost(key, failure.what());
    }
}

void prepared_runs::heard_of(std::uint64_t key)
{
    const auto at = std::find_if(children_.begin(), children_.end(), [key](const child& c) { return c.key == key; });
    if (at == children_.end() || !keeper_.find(key)->waits()) return;
    at->waits = true;
    const auto first = std::find_if(queue_.begin(), queue_.end(), [&](const queued& q) { return q.shape == at->shape; });
    if (first == queue_.end()) return;
    queued next = std::move(*first);
    queue_.erase(first);
    if (!hand_over(key, next.start, next.descriptors)) keeper_.start_cold(std::move(next.start), std::move(next.descriptors));
}

std::optional<std::uint64_t> prepared_runs::waiting_for(const std::string& shape) const
{
    for (const child& each : children_)
        if (each.waits && each.shape == shape) return each.key;
    return std::nullopt;
}

// False: nothing has begun. The child is not offered again.
bool prepared_runs::hand_over(std::uint64_t key, const start_message& start, const std::vector<unique_fd>& descriptors)
{
    std::erase_if(children_, [key](const child& c) { return c.key == key; });
    refill_at_ = std::chrono::steady_clock::now() + quiet;
    refill_latest_ = refill_at_ + longest_quiet;
    run* const waiting = keeper_.find(key);
    try {
        if (!waiting->fits(start.request)) throw step_failed("find the workspace as it was", ESTALE);
        waiting->begin(start, descriptors);
        failures_ = 0;
        return true;
    } catch (const std::exception&) {
        waiting->kill(cause::cancelled);
        return false;
    }
}

void prepared_runs::lost(std::uint64_t key, const std::string& why)
{
    const auto at = std::find_if(children_.begin(), children_.end(), [key](const child& c) { return c.key == key; });
    if (at == children_.end()) return;
    const std::string shape = at->shape;
    children_.erase(at);
    start_queued_cold(shape);
    if (!why.empty() && ++failures_ >= most_failures) turn_off(why);
}

void prepared_runs::start_queued_cold(const std::string& shape)
{
    std::deque<queued> waiting;
    waiting.swap(queue_);
    for (queued& each : waiting) {
        if (shape.empty() || each.shape == shape) keeper_.start_cold(std::move(each.start), std::move(each.descriptors));
        else queue_.push_back(std::move(each));
    }
}

// The children that it made live on without it; those on their way come no more.
void prepared_runs::turn_off(const std::string& why)
{
    const bool was_ready = active_ready_;
    active_.reset();
    active_ready_ = false;
    obstacle_ = why;
    for (const std::uint64_t key : ordered_) {
        keeper_.drop(key);
        std::erase_if(children_, [key](const child& c) { return c.key == key; });
    }
    ordered_.clear();
    start_queued_cold({});
    if (was_ready && ++failures_ < most_failures) {
        active_ = start_zygote();
        active_number_ = last_number_;
        clones_ = 0;
    }
    tell_state();
}

void prepared_runs::take_over()
{
    active_ = std::move(next_);
    active_number_ = last_number_;
    about_ = about_next_;
    next_ready_ = false;
    clones_ = 0;
}

steady_time prepared_runs::next_event() const
{
    const auto overdue = queue_.empty() ? steady_time::max() : queue_.front().since + patience;
    return std::min(refill_at_, overdue);
}

void prepared_runs::look(steady_time now, bool busy)
{
    if (!queue_.empty() && now >= queue_.front().since + patience) start_queued_cold({});
    if (next_ready_ && ordered_.empty() && clones_ >= options_.runs) take_over();
    if (now < refill_at_) return;
    if (busy && now < refill_latest_) {
        refill_at_ = now + quiet;
        return;
    }
    refill_at_ = steady_time::max();
    refill();
}

void prepared_runs::refill()
{
    if (!active_ || !active_ready_ || wanted_shape_.empty()) return;
    while (count(wanted_shape_) < options_.waiting + queued_for(wanted_shape_))
        if (!order(wanted_shape_, wanted_, false)) break;
    trim();
    // In time, so that no run has to start cold for want of a clone.
    if (!next_ && clones_ + options_.runs / 5 >= options_.runs) next_ = start_zygote();
}

// Those that wait longest for other callers go first.
void prepared_runs::trim()
{
    std::size_t surplus = children_.size() - std::min<std::size_t>(children_.size(), shapes_kept * options_.waiting);
    for (child& each : children_) {
        if (surplus == 0) break;
        if (!each.waits || each.shape == wanted_shape_) continue;
        keeper_.find(each.key)->kill(cause::cancelled);
        each.key = 0;
        --surplus;
    }
    std::erase_if(children_, [](const child& c) { return c.key == 0; });
}

std::size_t prepared_runs::count(const std::string& shape) const
{
    return static_cast<std::size_t>(
        std::count_if(children_.begin(), children_.end(), [&](const child& c) { return c.shape == shape; }));
}

std::size_t prepared_runs::queued_for(const std::string& shape) const
{
    return static_cast<std::size_t>(
        std::count_if(queue_.begin(), queue_.end(), [&](const queued& q) { return q.shape == shape; }));
}

void prepared_runs::tell_state()
{
    json::object state;
    state["state"] = !active_ ? "off" : active_ready_ ? "on" : "starting";
    state["detail"] = !active_ ? obstacle_ : active_ready_ ? about_ : std::string();
    keeper_.tell(json::serialize(state));
}

}  // namespace cmcp::sandbox
