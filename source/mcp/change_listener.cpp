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
        auto observer = observe(uri, [changed, uri] { changed({resource_updated, uri}); });
        const bool known = observer != nullptr;
        if (known) observers_.push_back(std::move(observer));
        return !known;
    });
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
