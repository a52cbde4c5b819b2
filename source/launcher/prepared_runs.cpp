#include "launcher/prepared_runs.hpp"

#include "jail/setup_step.hpp"
#include "jsonrpc/json.hpp"

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::seconds patience{1};  // for a child that was asked for
constexpr int most_failures = 3;

}  // namespace

prepared_runs::prepared_runs(run_keeper& keeper, zygote_options options, std::uint64_t lane)
    : keeper_(keeper),
      options_(std::move(options)),
      loaded_(python_start::read(options_.model.argv)),
      lane_(lane),
      children_(keeper, options_.waiting),
      last_key_(first_key + lane * each_lane)
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
    keeper_.watch(started->socket(), first_tag + lane_ * each_lane + ++last_number_);
    return started;
} catch (const std::exception& failure) {
    obstacle_ = failure.what();
    return nullptr;
}

bool prepared_runs::stands_in_for(const run_request& request) const
{
    if (!request.prepared) return false;
    const auto wanted = python_start::read(request.argv);
    return wanted && loaded_ && wanted->interpreter == loaded_->interpreter && wanted->program == loaded_->program &&
           suits_a_clone(*wanted, request.environment);
}

bool prepared_runs::take(start_message& start, std::vector<unique_fd>& descriptors)
{
    if (!active_ || !active_ready_ || !stands_in_for(start.request)) return false;
    run_request request = shape_of(start.request);
    std::string shape = shape_name(request, start.probe);
    if (!start.probe) {
        wanted_shape_ = shape;
        wanted_ = request;
    }
    if (children_.hand_over(shape, start, descriptors)) return began();
    if (children_.count(shape) <= queued_for(shape) && !order(shape, request, start.probe)) return false;
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
    children_.add(key, shape);
    if (++clones_ >= options_.runs) refill_.soon();
    return true;
} catch (const std::exception&) {
    return false;  // the cold start meets the same obstacle and explains it
}

void prepared_runs::handle(std::uint64_t tag)
{
    const bool from_active = tag == first_tag + lane_ * each_lane + active_number_;
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
        if (from_active)
            tell_state();
        else
            refill_.at_once();
    } else if (said.what == zygote_says::cloned) {
        attach(std::move(said.child));
    } else if (said.what == zygote_says::refused && !ordered_.empty()) {
        const std::uint64_t key = ordered_.front();
        ordered_.pop_front();
        keeper_.drop(key);
        lost(key, explain_setup_failure("clone", said.error));
    } else if (said.what == zygote_says::failed) {
        (from_active ? active_ : next_).reset();
        if (from_active)
            turn_off(said.text);
        else
            obstacle_ = said.text;
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
        if (next_ready_) refill_.at_once();
    } catch (const std::exception& failure) {
        keeper_.drop(key);
        lost(key, failure.what());
    }
}

void prepared_runs::heard_of(std::uint64_t key)
{
    const auto shape = children_.heard_of(key);
    if (!shape) return;
    const auto first = std::find_if(queue_.begin(), queue_.end(), [&](const queued& q) { return q.shape == *shape; });
    if (first == queue_.end()) return;
    queued next = std::move(*first);
    queue_.erase(first);
    if (children_.hand_over(key, next.start, next.descriptors))
        began();
    else
        keeper_.start_cold(std::move(next.start), std::move(next.descriptors));
}

bool prepared_runs::began()
{
    refill_.run_began();
    failures_ = 0;
    return true;
}

void prepared_runs::lost(std::uint64_t key, const std::string& why)
{
    const auto shape = children_.forget(key);
    if (!shape) return;
    start_queued_cold(*shape);
    if (!why.empty() && ++failures_ >= most_failures) turn_off(why);
}

void prepared_runs::start_queued_cold(const std::string& shape)
{
    std::deque<queued> waiting;
    waiting.swap(queue_);
    for (queued& each : waiting) {
        if (shape.empty() || each.shape == shape)
            keeper_.start_cold(std::move(each.start), std::move(each.descriptors));
        else
            queue_.push_back(std::move(each));
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
        children_.forget(key);
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
    return std::min(refill_.next(), overdue);
}

void prepared_runs::look(steady_time now, std::size_t running)
{
    if (!queue_.empty() && now >= queue_.front().since + patience) start_queued_cold({});
    if (next_ready_ && ordered_.empty() && clones_ >= options_.runs) take_over();
    if (refill_.over(now, running, children_.count(wanted_shape_) == 0)) refill();
}

void prepared_runs::refill()
{
    if (!active_ || !active_ready_ || wanted_shape_.empty()) return;
    while (!children_.enough(wanted_shape_, queued_for(wanted_shape_)))
        if (!order(wanted_shape_, wanted_, false)) break;
    children_.trim(wanted_shape_);
    // In time, so that no run has to start cold for want of a clone.
    if (!next_ && 2 * std::size_t{clones_} >= options_.runs) next_ = start_zygote();
}

std::size_t prepared_runs::queued_for(const std::string& shape) const
{
    return static_cast<std::size_t>(
        std::count_if(queue_.begin(), queue_.end(), [&](const queued& q) { return q.shape == shape; }));
}

void prepared_runs::tell_state()
{
    if (lane_ != 0) return;
    json::object state;
    state["state"] = !active_ ? "off" : active_ready_ ? "on" : "starting";
    state["detail"] = !active_ ? obstacle_ : active_ready_ ? about_ : std::string();
    keeper_.tell(json::serialize(state));
}

}  // namespace cmcp::sandbox
