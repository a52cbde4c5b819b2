#include "launcher/standby_clones.hpp"

#include "jail/mounts.hpp"
#include "jail/setup_step.hpp"
#include "jsonrpc/json.hpp"
#include "launcher/launcher.hpp"

#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr int most_losses = 3;

}  // namespace

standby_clones::standby_clones(launcher& keeper, zygote_options options, role serves)
    : standby_pool(keeper, options.waiting, true),
      options_(std::move(options)),
      python_(python_start::read(options_.argv)),
      role_(serves)
{
    if (role_ != role::main) return;
    started_ = true;
    active_ = start_zygote();
    tell_state();
}

standby_clones::loaded_interpreter standby_clones::start_zygote()
try {
    const shared_parts parts = keeper_.parts();
    const zygote_setup setup{options_.profile, parts.filters.memory_is_counted(), parts.filters.files_are_own(),
                             parts.with_time_namespace};
    const unique_fd& view = parts.views->find(run_request()).root;
    const zygote_home home{copy_mount_tree(view.get(), "", "clone the root"), !parts.with_apparmor};
    loaded_interpreter started{std::make_unique<zygote>(options_, home, setup), keeper_.next_key()};
    keeper_.watch_zygote(started.key, started.process->socket());
    return started;
} catch (const std::exception& failure) {
    obstacle_ = failure.what();
    return {};
}

bool standby_clones::stands_in_for(const run_request& request) const
{
    if (!request.prepared || !request.image.empty() || (role_ == role::data && !request.data_libraries)) return false;
    const auto python = python_start::read(request.argv);
    return python && python_ && python->interpreter == python_->interpreter && python->program == python_->program &&
           suits_a_clone(*python, request.environment);
}

std::optional<run_request> standby_clones::shape_for(const start_message& start)
{
    if (!stands_in_for(start.request)) return std::nullopt;
    if (!std::exchange(started_, true)) active_ = start_zygote();
    return active_.ready ? std::optional(shape_of(start.request)) : std::nullopt;
}

bool standby_clones::can_make() const { return active_.ready && clones_ < options_.runs; }

bool standby_clones::launch(std::uint64_t key, run& standby) { return order(key, standby.in()); }

bool standby_clones::order_for(std::uint64_t key, const cell& of)
{
    return role_ == role::main && can_make() && order(key, of);
}

bool standby_clones::order(std::uint64_t key, const cell& of)
{
    if (!active_.process->order(of.clone_descriptors())) return false;
    ordered_.push_back(key);
    if (++clones_ >= options_.runs) refill_.soon();
    return true;
}

void standby_clones::hear_zygote(std::uint64_t key)
{
    for (;;) {
        const bool from_active = key == active_.key;
        auto& speaker = from_active ? active_ : next_;
        if (key != speaker.key || !speaker.process) return;
        auto said = speaker.process->hear();
        if (!said) return;
        hear(std::move(*said), from_active);
    }
}

void standby_clones::hear(zygote::message said, bool from_active)
{
    auto& speaker = from_active ? active_ : next_;
    if (said.kind == zygote_says::ready) {
        speaker.ready = true;
        speaker.about = said.text;
        if (from_active)
            tell_state();
        else
            refill_.at_once();
    } else if (said.kind == zygote_says::cloned) {
        attach(std::move(said.child));
    } else if (said.kind == zygote_says::refused && !ordered_.empty()) {
        const std::uint64_t key = ordered_.front();
        ordered_.pop_front();
        lose_order(key, explain_setup_failure("clone", said.error));
    } else if (said.kind == zygote_says::failed) {
        if (from_active) return turn_off(said.text);
        next_ = {};
        obstacle_ = said.text;
    }
}

void standby_clones::attach(cloned child)
{
    if (ordered_.empty() || !child.pidfd) return;
    const std::uint64_t key = ordered_.front();
    ordered_.pop_front();
    try {
        keeper_.attach(key, std::move(child));
        if (next_.ready) refill_.at_once();
    } catch (const std::exception& failure) {
        lose_order(key, failure.what());
    }
}

void standby_clones::lose_order(std::uint64_t key, const std::string& why)
{
    keeper_.lose_clone(key);
    lost(key, why);
}

void standby_clones::note_loss(bool, const std::string& why)
{
    if (!why.empty() && losses_ >= most_losses) turn_off(why);
}

// The clones that it made live on without it; those on their way come no more.
void standby_clones::turn_off(const std::string& why)
{
    const bool was_ready = active_.ready;
    active_ = {};
    obstacle_ = why;
    for (const std::uint64_t key : std::exchange(ordered_, {})) {
        keeper_.lose_clone(key);
        forget(key);
    }
    start_queued_cold({});
    if (was_ready && ++losses_ < most_losses) {
        active_ = start_zygote();
        clones_ = 0;
    }
    tell_state();
}

void standby_clones::take_over()
{
    active_ = std::exchange(next_, {});
    clones_ = 0;
}

void standby_clones::look(steady_time now, std::size_t running)
{
    if (next_.ready && ordered_.empty() && clones_ >= options_.runs) take_over();
    standby_pool::look(now, running);
}

void standby_clones::refill()
{
    if (!active_.ready) return;
    standby_pool::refill();
    // In time, so that no run has to start cold for want of a clone.
    if (!next_.process && 2 * std::size_t{clones_} >= options_.runs) next_ = start_zygote();
}

void standby_clones::tell_state()
{
    if (role_ != role::main) return;
    json::object state;
    state["state"] = !active_.process ? "off" : active_.ready ? "on" : "starting";
    state["detail"] = !active_.process ? obstacle_ : active_.about;
    keeper_.tell(json::serialize(state));
}

}  // namespace cmcp::sandbox
