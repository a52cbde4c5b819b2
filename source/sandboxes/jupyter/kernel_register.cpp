#include "jupyter/kernel_register.hpp"

#include "http/http_refusal.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr auto tasks_ending_limit = std::chrono::seconds(5);
constexpr std::size_t most_of_living = 4;  // kernels of a caller, most of which need no process, for each that may live

constexpr std::size_t most_variables = 100, most_bytes_of_variables = 16 << 10;
constexpr std::string_view of_the_server = "CONTAINER_MCP_";  // begins names of variables that the server sets

void check_variable(std::string_view name, const json::value& value)
{
    const auto bad = [](std::string_view part) { return part.find('\0') != std::string_view::npos || !is_utf8(part); };
    if (name.empty() || name.find('=') != std::string_view::npos || bad(name))
        throw http_refusal(400, "env has the name \"" + escape_invalid_utf8(name) + "\", which no variable can have.");
    if (name.starts_with(of_the_server))
        throw http_refusal(400, "env must not set " + std::string(name) + ": names that begin with " +
                                    std::string(of_the_server) + " are the server's.");
    if (!value.is_string() || bad(value.get_string()))
        throw http_refusal(400, "env must have a text for " + std::string(name) + ".");
}

bool belongs(const kernel& one, const caller& who) { return one.at().who.principal == who.principal; }

}  // namespace

json::object kernel_environment(const json::object& wish)
{
    const auto* wanted = wish.if_contains("env");
    if (wanted == nullptr || wanted->is_null()) return {};
    if (!wanted->is_object()) throw http_refusal(400, "env must be an object of names and texts.");
    const auto& all = wanted->get_object();
    std::size_t bytes = 0;
    for (const auto& each : all) {
        check_variable(each.key(), each.value());
        bytes += each.key().size() + each.value().get_string().size();
    }
    if (all.size() > most_variables || bytes > most_bytes_of_variables)
        throw http_refusal(400, "env has " + std::to_string(all.size()) + " variables of " + std::to_string(bytes) +
                                    " bytes; a kernel takes " + std::to_string(most_variables) + " of " +
                                    std::to_string(most_bytes_of_variables) + " bytes together.");
    return all;
}

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
        throw http_refusal(503, "All your kernels (" + std::to_string(all.size()) +
                                    ") are in use; shut one down (your quota of kernels).");
    co_await end(std::move(who), oldest->at().id);
}

awaitable<kernel_key> kernel_register::choose(caller who, new_kernel wanted)
{
    kernel_key at{new_uuid(), std::move(wanted.spec), who, {}, {}, {}, std::move(wanted.environment)};
    if (at.spec == node_spec) at.language = kernel_language::javascript;
    if (wanted.path.empty()) {
        new_sandbox passing;
        passing.passing = true;
        const auto fresh = co_await folders_.sandboxes().create(owner_of_sandbox(who, at.id), std::move(passing));
        at.sandbox = fresh.id;
        if (at.spec == node_spec) at.name = free_name(at.sandbox);
        co_return at;
    }
    const auto place = co_await folders_.find(std::move(who), std::move(wanted.path));
    at.sandbox = place.where.id;
    at.path = place.inside;
    if (at.spec != shared_spec) at.name = free_name(at.sandbox);
    co_return at;
}

awaitable<std::shared_ptr<kernel>> kernel_register::start(caller who, new_kernel wanted)
{
    if (wanted.spec.empty()) wanted.spec = own_spec;
    if (wanted.spec != own_spec && wanted.spec != node_spec && wanted.spec != shared_spec)
        throw http_refusal(404,
                           "There is no kernelspec " + wanted.spec + "; there are python3, javascript and sandbox.");
    if (wanted.spec == shared_spec) wanted.environment.clear();  // tools use it as well
    co_await make_room(who);
    auto at = co_await choose(std::move(who), std::move(wanted));
    if (at.name.empty())
        if (auto there = shared_one(at.sandbox)) co_return there;
    const auto fresh = std::make_shared<kernel>(std::move(at), kernels_, folders_.sandboxes(), pool_, tasks_);
    all_[fresh->at().id] = fresh;
    if (!fresh->at().name.empty()) co_await fresh->restart();  // of an earlier one with this name nothing is left
    co_return fresh;
}

std::shared_ptr<kernel> kernel_register::find(const caller& who, const std::string& id) const
{
    const auto at = all_.find(id);
    if (at == all_.end() || !belongs(*at->second, who)) throw http_refusal(404, "Kernel does not exist: " + id);
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
    if (at == sessions_.end() || !belongs(*at->second.uses, who)) throw http_refusal(404, "Session not found: " + id);
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
