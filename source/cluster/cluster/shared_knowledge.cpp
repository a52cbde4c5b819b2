#include "cluster/shared_knowledge.hpp"

#include "config/settings.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds between_words(2);

}  // namespace

shared_knowledge::shared_knowledge(asio::any_io_executor executor, etcd_client& etcd, const settings& config,
                                   members& all, member_lease& lease, reported_by_server own)
    : etcd_(etcd),
      lease_(lease),
      loads_(all, std::move(own.load)),
      holdings_(std::move(executor), {etcd, all, loads_, lease}, config, own.limits, std::move(own.holdings)),
      keys_(etcd, config),
      issuers_(etcd, config),
      quotas_(etcd, config, own.limits)
{
    all.on_change([this] { loads_.look_again(); });
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

void shared_knowledge::start(task_group& tasks)
{
    tasks.spawn("what this server tells the others", run());
    tasks.spawn("what the others tell of their callers", holdings_.listen());
    tasks.spawn("limits of all servers", quotas_.run());
    tasks.spawn("changes of limits", quotas_.listen());
}

// What was told goes with its lease.
awaitable<> shared_knowledge::tell()
{
    const auto lease = lease_.number();
    const bool everything = lease != told_by_;
    const bool all_told = co_await holdings_.tell(everything);
    co_await keys_.tell(everything);
    if (everything && all_told) told_by_ = lease;
    co_await lease_.tell(told_by_ == lease);
}

awaitable<> shared_knowledge::run()
{
    for (;;) {
        loads_.look_again();
        if (lease_.number() != 0 && etcd_.is_there()) co_await tell();
        co_await holdings_.learn_again();
        const auto lease = lease_.number();
        const auto next = event::clock::now() + between_words;
        while (lease == lease_.number() && event::clock::now() < next) co_await lease_.changed().wait(next);
    }
}

}  // namespace cmcp
