#include "sandboxes/sandbox_activities.hpp"

namespace cmcp {

struct sandbox_activities::state {
    struct live {
        std::set<entry*> entries;
        std::optional<sandbox_error> closing;  // why
    };

    void leave(const std::string& id, entry* one)
    {
        live& of = sandboxes[id];
        of.entries.erase(one);
        if (!of.entries.empty()) return;
        ended.notify();
        if (!of.closing) sandboxes.erase(id);
    }

    event ended;  // the last entry of any sandbox
    std::map<std::string, live> sandboxes;
};

sandbox_activities::entry::entry(std::shared_ptr<state> of, std::string id) : of_(std::move(of)), id_(std::move(id))
{
    of_->sandboxes[id_].entries.insert(this);
}

sandbox_activities::entry::~entry() { of_->leave(id_, this); }

void sandbox_activities::entry::cancel(std::optional<sandbox_error> why)
{
    if (!why_) why_ = std::move(why);
    signal_.emit(asio::cancellation_type::terminal);
}

sandbox_activities::sandbox_activities() : state_(std::make_shared<state>()) {}

std::shared_ptr<sandbox_activities::entry> sandbox_activities::begin(const std::string& id)
{
    const auto activity = state_->sandboxes.find(id);
    if (activity != state_->sandboxes.end() && activity->second.closing) throw sandbox_error(*activity->second.closing);
    return std::make_shared<entry>(state_, id);
}

void sandbox_activities::cancel_all(const std::string& id, const sandbox_error& why)
{
    const auto shared = state_;
    if (!shared->sandboxes[id].closing) shared->sandboxes[id].closing = why;
    // The entries are copied, because an entry that ends meanwhile removes itself.
    const std::vector<entry*> entries(shared->sandboxes[id].entries.begin(), shared->sandboxes[id].entries.end());
    for (auto* each : entries)
        if (shared->sandboxes[id].entries.contains(each)) each->cancel(why);
}

awaitable<> sandbox_activities::end_all(std::string id)
{
    const auto shared = state_;
    cancel_all(id, ended_with_sandbox());
    while (!shared->sandboxes[id].entries.empty()) co_await shared->ended.wait();
}

void sandbox_activities::forget(const std::string& id)
{
    const auto activity = state_->sandboxes.find(id);
    if (activity == state_->sandboxes.end()) return;
    activity->second.closing.reset();
    if (activity->second.entries.empty()) state_->sandboxes.erase(activity);
}

bool sandbox_activities::busy(const std::string& id) const
{
    const auto activity = state_->sandboxes.find(id);
    return activity != state_->sandboxes.end() && (activity->second.closing || !activity->second.entries.empty());
}

bool sandbox_activities::closing(const std::string& id) const
{
    const auto activity = state_->sandboxes.find(id);
    return activity != state_->sandboxes.end() && activity->second.closing;
}

bool sandbox_activities::shared(const std::string& id) const
{
    const auto activity = state_->sandboxes.find(id);
    return activity != state_->sandboxes.end() && activity->second.entries.size() > 1;
}

std::vector<std::string> sandbox_activities::busy_ids() const
{
    std::vector<std::string> all;
    for (const auto& [id, of] : state_->sandboxes)
        if (!of.entries.empty()) all.push_back(id);
    return all;
}

awaitable<> sandbox_activities::quiet(std::string id) const
{
    const auto shared = state_;
    const auto has_entries = [&] {
        const auto activity = shared->sandboxes.find(id);
        return activity != shared->sandboxes.end() && !activity->second.entries.empty();
    };
    while (has_entries()) co_await shared->ended.wait();
}

sandbox_error ended_with_sandbox()
{
    return {"NotFound", "The sandbox was deleted or replaced meanwhile; list_sandboxes shows those there are."};
}

}  // namespace cmcp
