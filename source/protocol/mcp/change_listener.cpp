#include "mcp/change_listener.hpp"

#include <utility>

namespace cmcp {

change_listener::change_listener(change_filter wanted, json::value id, std::shared_ptr<message_sink> to,
                                 std::function<void()> on_end)
    : filter(std::move(wanted)), subscription(std::move(id)), sink(std::move(to)), on_end_(std::move(on_end))
{
}

void change_listener::observe_all(const observe_function& observe, std::function<void(const change& what)> changed)
{
    std::erase_if(filter.resources, [&](const std::string& uri) {
        const change what{resource_updated, uri};
        auto observer = observe(what, [changed, what](json::object) { changed(what); });
        const bool known = observer != nullptr;
        if (known) observers_.push_back(std::move(observer));
        return !known;
    });
    observe_tasks(observe, changed);
}

void change_listener::observe_tasks(const observe_function& observe,
                                    const std::function<void(const change& what)>& changed)
{
    for (const auto& id : filter.tasks) {
        const change what{task_changed, id};
        auto heard = [weak = weak_from_this(), changed, what](json::object detail) {
            if (const auto self = weak.lock()) self->details.insert_or_assign(what.uri, std::move(detail));
            changed(what);
        };
        if (auto observer = observe(what, std::move(heard))) observers_.push_back(std::move(observer));
    }
}

void change_listener::stop()
{
    on_end_ = nullptr;
    observers_.clear();
    pending.clear();
    sink.reset();
}

void change_listener::end()
{
    const auto tell = std::exchange(on_end_, nullptr);
    if (tell) tell();
    stop();
}

}  // namespace cmcp
