#include "http/login_holds.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

void login_holds::hold::begin(login_holds& all, login_ptr who)
{
    end();
    if (!who || who->from == login::source::other) return;  // nobody takes that back
    all_ = &all;
    who_ = std::move(who);
    all.all_.push_back(*this);
}

void login_holds::hold::end()
{
    unlink();
    who_.reset();
}

void login_holds::hold::move_to(hold& other)
{
    if (who_) other.begin(*all_, std::move(who_));
    end();
}

std::vector<login_ptr> login_holds::logins() const
{
    std::vector<login_ptr> all;
    for (const auto& each : all_)
        if (all.empty() || all.back() != each.who_) all.push_back(each.who_);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::size_t login_holds::end(const std::vector<login_ptr>& of)
{
    std::size_t ended = 0;
    for (auto& each : all_) {
        if (!std::ranges::binary_search(of, each.who_)) continue;
        each.login_ended();
        ++ended;
    }
    return ended;
}

}  // namespace cmcp
