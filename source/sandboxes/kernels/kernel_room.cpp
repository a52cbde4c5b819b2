#include "kernels/kernel_turn.hpp"

#include "config/settings.hpp"
#include "log/log.hpp"

#include <algorithm>
#include <ranges>

// The part of kernel_manager that counts living kernels and ends one for another.
namespace cmcp {

namespace {

std::string advice(bool has_some)
{
    return has_some ? ", and those that could give way run code. Wait for one of yours, end one with restart_kernel, "
                      "or leave stateful out."
                    : ", and no other caller has one to spare. Try again in some minutes, or leave stateful out.";
}

}  // namespace

std::vector<kernel_manager::view> kernel_manager::list() const
{
    std::vector<view> all;
    for (const auto& [key, one] : kernels_)
        if (one->lives()) all.push_back({one->id, one->name, one->owner, !one->line.empty(), one->started});
    return all;
}

std::size_t kernel_manager::count(const std::string* owner) const
{
    return static_cast<std::size_t>(std::ranges::count_if(kernels_, [&](const auto& entry) {
        return entry.second->lives() && (owner == nullptr || entry.second->owner == *owner);
    }));
}

std::size_t kernel_manager::idle_in(const std::string& id) const
{
    return static_cast<std::size_t>(std::ranges::count_if(kernels_, [&](const auto& entry) {
        return entry.first.first == id && entry.second->lives() && entry.second->line.empty();
    }));
}

// Empty: one more kernel of this caller may live.
std::string kernel_manager::why_full(const std::string& owner) const
{
    const std::string sentence = "As many kernels live as ";
    auto& limits = runs_.sandboxes().limits();
    if (count(&owner) >= limits.of(owner).kernels)
        return sentence + limits.refusal_in_words(owner, &principal_limits::kernels);
    if (count(nullptr) < config_.max_kernels) return {};
    return sentence + "SANDBOX_MAX_LIVE allows (" + std::to_string(config_.max_kernels) + ")";
}

// The longest unused of the caller's own kernels, else one of a caller who has more of them; null: all run code.
std::shared_ptr<kernel_manager::kernel> kernel_manager::longest_unused(const std::string& owner) const
{
    const auto own = count(&owner);
    std::shared_ptr<kernel> best;
    for (const auto& [id, each] : kernels_) {
        if (!each->lives() || !each->line.empty()) continue;
        if (each->owner != owner && count(&each->owner) <= own + 1) continue;
        const auto rank = [&](const kernel& of) { return std::pair(of.owner != owner, of.used); };
        if (!best || rank(*each) < rank(*best)) best = each;
    }
    return best;
}

// No coroutine of another call can take a place between the last look and the return.
awaitable<> kernel_manager::make_room(std::string owner, request_io& io)
{
    for (auto full = why_full(owner); !full.empty(); full = why_full(owner)) {
        const auto idle = longest_unused(owner);
        if (!idle) throw sandbox_error("QuotaExceeded", full + advice(count(&owner) != 0));
        const auto meanwhile = std::make_shared<turn>(idle);  // a call on that kernel waits and starts it anew
        co_await keep_state(idle, "The kernel had been ended to make room for another one");
        log::info("kernel_gave_way", {{"principal", log::unless_empty(idle->owner)}});
        co_await idle->process->finish();
        if (idle->owner == owner)
            co_await tell_caller(
                io, log_severity::notice,
                full + ": your longest unused kernel was ended. Its variables are back with its next call.");
    }
}

}  // namespace cmcp
