#include "cluster/shared_knowledge.hpp"

#include "config/settings.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds between_beats(2);
constexpr std::chrono::minutes told_again_after(10);

}  // namespace

shared_knowledge::shared_knowledge(asio::any_io_executor executor, const settings& config, const members& all,
                                   reported_by_server own)
    : directory_(executor, config),
      beats_(directory_, all, std::move(own.load)),
      holdings_(directory_, all, beats_, own.limits, std::move(own.holdings)),
      keys_(directory_, config),
      issuers_(directory_, config),
      quotas_(directory_, config, own.limits)
{
}

shared_logins shared_knowledge::logins()
{
    shared_logins all;
    all.first_use = [this](std::string digest, std::chrono::seconds keep) {
        return keys_.first_use(std::move(digest), keep);
    };
    all.find_key = [this](std::string id) { return keys_.find(std::move(id)); };
    all.issuer_keys = issuers_.keys();
    return all;
}

awaitable<> shared_knowledge::run()
{
    for (;;) {
        const bool lost = co_await beats_.beat();
        const auto now = event::clock::now();
        const bool everything = directory_.is_there() && (lost || !is_told_ || now - told_all_ > told_again_after);
        const bool all_told = co_await holdings_.tell(everything);
        co_await keys_.tell(everything);
        if (everything) quotas_.tell_again();
        if (everything) is_told_ = all_told;
        if (everything) told_all_ = now;
        co_await holdings_.learn_again();
        co_await directory_.arrived().wait(now + between_beats);
    }
}

}  // namespace cmcp
