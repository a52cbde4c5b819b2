#include "web/browser_pool.hpp"

#include "async/task_group.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr auto to_stop_all = std::chrono::seconds(10);

awaitable<> stop_one(std::shared_ptr<browser> which) { co_await which->stop(); }

}  // namespace

browser_pool::browser_pool(asio::any_io_executor executor, browser_options options, std::size_t most)
    : executor_(executor), options_(std::move(options)), most_(most)
{
}

browser_pool::place_ptr browser_pool::find(const std::optional<std::string>& principal) const
{
    const auto its = [&](const place_ptr& each) { return each->principal == principal; };
    const auto at = std::find_if(places_.begin(), places_.end(), its);
    return at != places_.end() ? *at : nullptr;
}

std::size_t browser_pool::free_number() const
{
    const auto has = [this](std::size_t number) {
        return std::any_of(places_.begin(), places_.end(), [&](const auto& each) { return each->number == number; });
    };
    std::size_t number = 0;
    while (has(number)) ++number;
    return number;
}

browser_pool::place_ptr browser_pool::add(std::optional<std::string> principal)
{
    auto options = options_;
    options.number = free_number();
    options.principal = principal.value_or(std::string());
    auto its = std::make_shared<browser>(executor_, options);
    places_.push_back(std::make_shared<place>(place{std::move(principal), options.number, std::move(its)}));
    return places_.back();
}

browser_pool::place_ptr browser_pool::take(const std::string& principal)
{
    if (auto own = find(principal)) return own;
    if (auto unused = find(std::nullopt)) {
        unused->principal = principal;
        unused->its->give_to(principal);
        return unused;
    }
    return places_.size() < most_ ? add(principal) : nullptr;
}

browser_pool::place_ptr browser_pool::longest_idle() const
{
    place_ptr oldest;
    for (const auto& each : places_)
        if (each->uses == 0 && (!oldest || each->used_last < oldest->used_last)) oldest = each;
    return oldest;
}

std::shared_ptr<browser> browser_pool::use(const place_ptr& which)
{
    ++which->uses;
    which->used_last = ++order_;
    const auto end = [this, which](browser*) {
        --which->uses;
        changed_.notify();
    };
    return {which->its.get(), end};
}

awaitable<std::shared_ptr<browser>> browser_pool::enter(std::string principal)
{
    if (const auto own = find(principal)) co_return use(own);
    while (entering_) co_await changed_.wait();
    entering_ = true;
    const std::shared_ptr<void> turn(nullptr, [this](void*) {
        entering_ = false;
        changed_.notify();
    });
    for (;;) {
        if (const auto own = take(principal)) co_return use(own);
        const auto idle = longest_idle();
        if (!idle) {
            co_await changed_.wait();
            continue;
        }
        std::erase(places_, idle);
        co_await idle->its->stop();
    }
}

awaitable<> browser_pool::warm_up()
{
    auto unused = find(std::nullopt);
    if (!unused) unused = add(std::nullopt);
    co_await unused->its->warm_up();
}

awaitable<> browser_pool::stop()
{
    task_group stopping(executor_);
    for (const auto& each : places_) stopping.spawn("stop a browser", stop_one(each->its));
    co_await stopping.wait_idle(to_stop_all);
}

std::vector<browser_state> browser_pool::states() const
{
    auto latest = places_;
    std::sort(latest.begin(), latest.end(), [](const auto& a, const auto& b) { return a->used_last > b->used_last; });
    std::vector<browser_state> all;
    for (const auto& each : latest) all.push_back(each->its->state());
    return all;
}

}  // namespace cmcp
