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

browser_pool::entry_ptr browser_pool::find(const std::optional<std::string>& principal) const
{
    const auto its = [&](const entry_ptr& each) { return each->principal == principal; };
    const auto at = std::find_if(entries_.begin(), entries_.end(), its);
    return at != entries_.end() ? *at : nullptr;
}

std::size_t browser_pool::free_number() const
{
    const auto has = [this](std::size_t number) {
        return std::any_of(entries_.begin(), entries_.end(), [&](const auto& each) { return each->number == number; });
    };
    std::size_t number = 0;
    while (has(number)) ++number;
    return number;
}

browser_pool::entry_ptr browser_pool::add(std::optional<std::string> principal)
{
    auto options = options_;
    options.number = free_number();
    options.principal = principal.value_or(std::string());
    auto its = std::make_shared<browser>(executor_, options);
    entries_.push_back(std::make_shared<entry>(entry{std::move(principal), options.number, std::move(its)}));
    return entries_.back();
}

browser_pool::entry_ptr browser_pool::take(const std::string& principal)
{
    if (auto own = find(principal)) return own;
    if (auto unused = find(std::nullopt)) {
        unused->principal = principal;
        unused->its->give_to(principal);
        return unused;
    }
    return entries_.size() < most_ ? add(principal) : nullptr;
}

browser_pool::entry_ptr browser_pool::longest_idle() const
{
    entry_ptr oldest;
    for (const auto& each : entries_)
        if (each->uses == 0 && (!oldest || each->used_last < oldest->used_last)) oldest = each;
    return oldest;
}

std::shared_ptr<browser> browser_pool::use(const entry_ptr& which)
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
        std::erase(entries_, idle);
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
    for (const auto& each : entries_) stopping.spawn("stop a browser", stop_one(each->its));
    co_await stopping.wait_idle(to_stop_all);
}

std::vector<browser_state> browser_pool::states() const
{
    auto latest = entries_;
    std::sort(latest.begin(), latest.end(), [](const auto& a, const auto& b) { return a->used_last > b->used_last; });
    std::vector<browser_state> all;
    for (const auto& each : latest) all.push_back(each->its->state());
    return all;
}

}  // namespace cmcp
