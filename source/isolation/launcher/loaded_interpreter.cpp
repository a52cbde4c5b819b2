#include "launcher/loaded_interpreter.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jsonrpc/json.hpp"
#include "launcher/launcher.hpp"

#include <stdexcept>
#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr int most_losses = 3;

}  // namespace

loaded_interpreter::loaded_interpreter(launcher& keeper, zygote_options options, role serves)
    : keeper_(keeper), options_(std::move(options)), python_(python_start::read(options_.argv)), role_(serves)
{
    if (role_ != role::main) return;
    is_ready();
    tell_state();
}

bool loaded_interpreter::is_ready()
{
    if (!std::exchange(started_, true)) active_ = start_zygote();
    return active_.ready;
}

loaded_interpreter::loaded loaded_interpreter::start_zygote()
try {
    if (!python_) throw std::runtime_error("the zygote cannot be started in this way");
    const shared_parts parts = keeper_.parts();
    const zygote_setup setup{options_.profile, python_->program, parts.filters.memory_is_counted(),
                             parts.filters.files_are_own(), parts.with_time_namespace};
    const unique_fd& view = parts.views->find(run_request()).root;
    const zygote_home home{copy_mount_tree(view.get(), "", "clone the root"), !parts.with_apparmor};
    loaded started{std::make_unique<zygote>(options_, home, setup), keeper_.next_key()};
    keeper_.watch_zygote(started.key, started.process->socket());
    return started;
} catch (const std::exception& failure) {
    obstacle_ = failure.what();
    return {};
}

bool loaded_interpreter::stands_in_for(const run_request& request) const
{
    if (!request.prepared || !request.image.empty() || request.machine ||
        (role_ == role::data && !request.data_libraries))
        return false;
    const auto python = python_start::read(request.argv);
    return python && python_ && python->interpreter == python_->interpreter && python->program == python_->program &&
           suits_a_clone(*python, request.environment);
}

bool loaded_interpreter::order(std::uint64_t key, const cell& of)
{
    if (!has_clones() || !active_.process->order(of.clone_descriptors())) return false;
    ordered_.push_back(key);
    ++clones_;
    return true;
}

void loaded_interpreter::hear(std::uint64_t key)
{
    for (;;) {
        const bool from_active = key == active_.key;
        auto& speaker = from_active ? active_ : next_;
        if (key != speaker.key || !speaker.process) break;
        auto said = speaker.process->hear();
        if (!said) break;
        hear(std::move(*said), from_active);
    }
    switch_when_due();
}

void loaded_interpreter::hear(zygote::message said, bool from_active)
{
    auto& speaker = from_active ? active_ : next_;
    if (said.kind == zygote_says::ready) {
        speaker.ready = true;
        speaker.about = said.text;
        if (from_active) tell_state();
    } else if (said.kind == zygote_says::cloned) {
        attach(std::move(said.child));
    } else if (said.kind == zygote_says::refused && !ordered_.empty()) {
        lose_order(explain_setup_failure("clone", said.error));
    } else if (said.kind == zygote_says::failed) {
        if (from_active) return turn_off(said.text);
        next_ = {};
        obstacle_ = said.text;
    }
}

void loaded_interpreter::attach(cloned child)
{
    if (ordered_.empty() || !child.pidfd) return;
    const std::uint64_t key = ordered_.front();
    try {
        keeper_.attach(key, std::move(child));
        ordered_.pop_front();
    } catch (const std::exception& failure) {
        lose_order(failure.what());
    }
}

void loaded_interpreter::lose_order(const std::string& why)
{
    const std::uint64_t key = ordered_.front();
    ordered_.pop_front();
    keeper_.lose_clone(key);
    note_loss(why);
}

void loaded_interpreter::note_loss(const std::string& why)
{
    if (why.empty() || ++losses_ < most_losses) return;
    turn_off(why);
}

// The clones that it made live on without it; those on their way come no more.
void loaded_interpreter::turn_off(const std::string& why)
{
    const bool was_ready = active_.ready;
    active_ = {};
    obstacle_ = why;
    for (const std::uint64_t key : std::exchange(ordered_, {})) keeper_.lose_clone(key);
    if (was_ready && ++losses_ < most_losses) {
        active_ = start_zygote();
        clones_ = 0;
    }
    tell_state();
}

// In time, so that no cell has to do without an interpreter.
void loaded_interpreter::switch_when_due()
{
    if (next_.ready && ordered_.empty() && clones_ >= options_.runs) {
        active_ = std::exchange(next_, {});
        clones_ = 0;
    }
    if (active_.ready && !next_.process && 2 * std::size_t{clones_} >= options_.runs) next_ = start_zygote();
}

void loaded_interpreter::tell_state()
{
    if (role_ != role::main) return;
    json::object state;
    state["state"] = !active_.process ? "off" : active_.ready ? "on" : "starting";
    state["detail"] = !active_.process ? obstacle_ : active_.about;
    keeper_.tell(json::serialize(state));
}

}  // namespace cmcp::sandbox
