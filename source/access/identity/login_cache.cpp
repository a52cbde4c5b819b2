#include "identity/login_cache.hpp"

namespace cmcp {

const token_decision* login_cache::find(const std::string& digest, login::clock::time_point now)
{
    const auto at = by_digest_.find(digest);
    if (at == by_digest_.end() || at->second->until <= now) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->decision;
}

void login_cache::put(std::string digest, token_decision decision, login::clock::time_point until)
{
    if (const auto old = by_digest_.find(digest); old != by_digest_.end()) {
        const auto gone = old->second;
        by_digest_.erase(old);
        entries_.erase(gone);
    }
    entries_.push_front({std::move(digest), std::move(decision), until});
    by_digest_.emplace(entries_.front().digest, entries_.begin());
    if (entries_.size() <= most_) return;
    by_digest_.erase(entries_.back().digest);
    entries_.pop_back();
}

void login_cache::clear()
{
    by_digest_.clear();
    entries_.clear();
}

}  // namespace cmcp
