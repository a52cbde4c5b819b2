#include "jupyter/kernel_register.hpp"

#include "http/file_gateway.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr auto tasks_ending_limit = std::chrono::seconds(5);
constexpr std::size_t most_of_living = 4;  // kernels of a caller, most of which need no process, for each that may live

bool belongs(const kernel& one, const caller& who) { return one.at().who.principal == who.principal; }

}  // namespace

json::object session::model() const
{
    return {{"id", id},
            {"path", path},
            {"name", name},
            {"type", type},
            {"kernel", uses->model()},
            {"notebook", {{"path", path}, {"name", name}}}};
}

// A sandbox that passes ends with its session, also when the server is killed.
caller kernel_register::owner_of_sandbox(const caller& who, const std::string& kernel)
{
    caller owner = who;
    owner.session = "jupyter-" + kernel;
    owner.session_ends = true;
    return owner;
}

std::string kernel_register::free_name(const std::string& sandbox) const
{
    for (unsigned number = 1;; ++number) {
        auto name = std::to_string(number);
        const auto taken = [&](const auto& entry) {
            return entry.second->at().sandbox == sandbox && entry.second->at().name == name;
        };
        if (std::none_of(all_.begin(), all_.end(), taken)) return name;
    }
}

std::shared_ptr<kernel> kernel_register::shared_one(const std::string& sandbox) const
{
    const auto is = [&](const auto& entry) {
        return entry.second->at().sandbox == sandbox && entry.second->at().name.empty();
    };
    const auto at = std::find_if(all_.begin(), all_.end(), is);
    return at == all_.end() ? nullptr : at->second;
}

awaitable<> kernel_register::make_room(caller who)
{
    const auto all = list(who);
    const auto most = folders_.sandboxes().limits().of(who.principal).kernels;
    if (all.size() < most_of_living * most) co_return;
    std::shared_ptr<kernel> oldest;
    for (const auto& each : all)
        if (each->idle() && (!oldest || each->used() < oldest->used())) oldest = each;
    if (!oldest)
        throw gateway_error(503, "All your kernels (" + std::to_string(all.size()) +
                                     ") are in use; shut one down (SANDBOX_KERNELS_PER_CALLER, or your quota).");
    co_await end(std::move(who), oldest->at().id);
}

awaitable<kernel_place> kernel_register::choose(caller who, std::string spec, std::string path)
{
    kernel_place at{new_uuid(), std::move(spec), who, {}, {}, {}};
    if (path.empty()) {
        new_sandbox wanted;
        wanted.passing = true;
        const auto fresh = co_await folders_.sandboxes().create(owner_of_sandbox(who, at.id), std::move(wanted));
        at.sandbox = fresh.id;
        co_return at;
    }
    const auto place = co_await folders_.find_or_make(std::move(who), std::move(path));
    at.sandbox = place.where.id;
    at.folder = folder_of(place.inside);
    if (at.spec != shared_spec) at.name = free_name(at.sandbox);
    co_return at;
}

awaitable<std::shared_ptr<kernel>> kernel_register::start(caller who, std::string spec, std::string path)
{
    if (spec.empty()) spec = own_spec;
    if (spec != own_spec && spec != shared_spec)
        throw gateway_error(404, "There is no kernelspec " + spec + "; there are python3 and sandbox.");
    co_await make_room(who);
    auto at = co_await choose(who, std::move(spec), std::move(path));
    if (at.name.empty())
        if (auto there = shared_one(at.sandbox)) co_return there;
    const auto fresh = std::make_shared<kernel>(std::move(at), kernels_, folders_.sandboxes(), tasks_);
    all_[fresh->at().id] = fresh;
    if (!fresh->at().name.empty()) co_await fresh->restart();  // of an earlier one with this name nothing is left
    co_return fresh;
}

std::shared_ptr<kernel> kernel_register::find(const caller& who, const std::string& id) const
{
    const auto at = all_.find(id);
    if (at == all_.end() || !belongs(*at->second, who)) throw gateway_error(404, "Kernel does not exist: " + id);
    return at->second;
}

std::vector<std::shared_ptr<kernel>> kernel_register::list(const caller& who) const
{
    std::vector<std::shared_ptr<kernel>> own;
    for (const auto& [id, one] : all_)
        if (belongs(*one, who)) own.push_back(one);
    return own;
}

awaitable<> kernel_register::end(caller who, std::string id)
{
    const auto gone = find(who, id);
    all_.erase(id);
    std::erase_if(sessions_, [&](const auto& entry) { return entry.second.uses == gone; });
    co_await gone->end();
    folders_.sandboxes().end_session(owner_of_sandbox(who, id));
}

session& kernel_register::begin_session(session begun)
{
    begun.id = new_uuid();
    return sessions_[begun.id] = std::move(begun);
}

session& kernel_register::find_session(const caller& who, const std::string& id)
{
    const auto at = sessions_.find(id);
    if (at == sessions_.end() || !belongs(*at->second.uses, who)) throw gateway_error(404, "Session not found: " + id);
    return at->second;
}

session* kernel_register::session_at(const caller& who, const std::string& path)
{
    for (auto& [id, each] : sessions_)
        if (each.path == path && belongs(*each.uses, who)) return &each;
    return nullptr;
}

std::vector<session> kernel_register::sessions(const caller& who) const
{
    std::vector<session> own;
    for (const auto& [id, each] : sessions_)
        if (belongs(*each.uses, who)) own.push_back(each);
    return own;
}

awaitable<> kernel_register::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(tasks_ending_limit);
}

}  // namespace cmcp::jupyter
