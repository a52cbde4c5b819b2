#include "cluster/list_changes.hpp"

#include "async/pause.hpp"
#include "cluster/member_line.hpp"
#include "log/log.hpp"

#include <set>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds moment(20), first_wait(500), patience_with_answer(2000);
constexpr int most_tries = 5;

}  // namespace

struct list_changes::listener {
    explicit listener(member_line to) : line(std::move(to)) {}

    member_line line;
    std::set<std::string> changed{};  // and not told yet
    bool is_told = false;             // now
};

list_changes::list_changes(asio::any_io_executor executor, const members& all, std::shared_ptr<member_links> links)
    : members_(all), links_(std::move(links)), telling_(std::move(executor))
{
}

list_changes::~list_changes() = default;

void list_changes::tell(const std::string& list)
{
    if (!started_) return;
    for (const auto& member : members_.others()) {
        const auto to = listener_at(member);
        to->changed.insert(list);
        if (!std::exchange(to->is_told, true)) telling_.spawn("change of a list", tell_one(to));
    }
}

// One that has come back at another address is reached there.
std::shared_ptr<list_changes::listener> list_changes::listener_at(const cluster_member& member)
{
    auto& known = others_[member.name];
    const bool is_same = known && known->line.to().host == member.host && known->line.to().port == member.port;
    if (!is_same) known = std::make_shared<listener>(member_line(links_, member));
    return known;
}

awaitable<> list_changes::tell_one(std::shared_ptr<listener> to)
{
    co_await pause_for(moment);
    while (!to->changed.empty()) {
        auto list = to->changed.extract(to->changed.begin()).value();
        const bool is_known = co_await tell_of(to, std::move(list));
        if (!is_known) to->changed.clear();
    }
    to->is_told = false;
}

awaitable<bool> list_changes::tell_of(std::shared_ptr<listener> to, std::string list)
{
    auto wait = first_wait;
    for (int tries = 1;; ++tries) {
        const auto answer = co_await to->line.ask("/member/changed?list=" + list, patience_with_answer);
        if (answer) co_return true;
        if (tries == most_tries) break;
        co_await pause_for(wait);
        wait *= 2;
    }
    log::info("list_change_untold", {{"member", to->line.to().name}, {"list", list}});
    co_return false;
}

}  // namespace cmcp
