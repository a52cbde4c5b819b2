#include "launcher/refusal_notes.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr int each_look = 500;
constexpr std::size_t most_denied = 16;

}  // namespace

void refusal_notes::listen(unique_fd listener)
{
    listener_ = refusal_listener(std::move(listener));
    budget_ = each_look;
}

void refusal_notes::look()
{
    if (listener_) budget_ = each_look;
}

bool refusal_notes::hear()
{
    bool over = false;
    const auto heard = listener_.answer(over);
    if (over) listener_ = {};
    if (!heard) return false;
    --budget_;
    const bool known = heard->what.empty() || std::find(denied_.begin(), denied_.end(), heard->what) != denied_.end();
    if (!known && denied_.size() < most_denied) denied_.push_back(heard->what);
    return heard->deadly;
}

}  // namespace cmcp::sandbox
