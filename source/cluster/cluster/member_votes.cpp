#include "cluster/member_votes.hpp"

#include <algorithm>
#include <functional>

namespace cmcp {

namespace {

// The latest time that so many of them have reached.
member_votes::time reached_by(std::vector<member_votes::time> times, std::size_t many)
{
    if (times.size() < many) return member_votes::time::min();
    const auto place = times.begin() + static_cast<std::ptrdiff_t>(many) - 1;
    std::nth_element(times.begin(), place, times.end(), std::greater<>());
    return *place;
}

}  // namespace

member_votes::member_votes(const std::vector<std::string>& others, bool active, time started, bool has_promised,
                           watch_times times)
    : majority_((others.size() + 1) / 2 + 1),
      active_(active && others.size() >= 2),
      started_(started),
      has_promised_(has_promised),
      times_(times)
{
    for (const auto& name : others) others_.try_emplace(name);
}

void member_votes::note_acknowledged(std::string_view by, time sent, time now)
{
    const auto at = others_.find(by);
    if (at == others_.end()) return;
    const bool before = is_in_touch(now);
    at->second.acknowledged = std::max(at->second.acknowledged, sent);
    if (!before && is_in_touch(now)) ++epoch_;
}

member_votes::time member_votes::in_touch_until() const
{
    std::vector<time> times;
    for (const auto& [name, of] : others_) times.push_back(of.acknowledged);
    return reached_by(std::move(times), majority_ - 1) + times_.touch;
}

std::size_t member_votes::count_in_touch(time now) const
{
    const auto is_late = [&](const auto& each) { return now < each.second.acknowledged + times_.touch; };
    return static_cast<std::size_t>(std::ranges::count_if(others_, is_late));
}

// To whom an earlier life has promised what is not known any more, so all that it may have promised is kept.
bool member_votes::take_beat(std::string_view from, time now)
{
    const auto at = others_.find(from);
    if (at == others_.end() || is_suspended(from, now)) return false;
    at->second.heard = now;
    return !active_ || !has_promised_ || now >= started_ + times_.promise;
}

bool member_votes::may_vote(std::string_view about, time now) const
{
    const auto at = others_.find(about);
    if (!active_ || at == others_.end()) return false;
    return now >= std::max(started_, at->second.heard) + times_.silence;
}

bool member_votes::vote(std::string_view about, time now)
{
    if (!may_vote(about, now)) return false;
    others_.find(about)->second.suspended_until = now + times_.promise;
    return true;
}

bool member_votes::is_suspended(std::string_view member, time now) const
{
    const auto at = others_.find(member);
    return at != others_.end() && now < at->second.suspended_until;
}

bool member_votes::ask(std::string_view about, time now)
{
    if (!is_in_touch(now) || !vote(about, now)) return false;
    note_granted(about, "", now);
    return true;
}

void member_votes::note_granted(std::string_view about, std::string_view by, time since)
{
    const auto at = others_.find(about);
    if (at == others_.end() || by == about) return;
    auto& latest = at->second.grants.try_emplace(std::string(by), never).first->second;
    latest = std::max(latest, since);
}

bool member_votes::has_verdict(std::string_view about, time now) const
{
    const auto at = others_.find(about);
    if (!active_ || at == others_.end() || !is_in_touch(now)) return false;
    std::vector<time> times;
    for (const auto& [name, since] : at->second.grants) times.push_back(since);
    return now < reached_by(std::move(times), majority_) + times_.verdict;
}

}  // namespace cmcp
