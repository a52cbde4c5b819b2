#include "cluster/member_lease.hpp"

#include "async/pause.hpp"
#include "async/raised_flag.hpp"
#include "async/with_deadline.hpp"
#include "cluster/etcd_names.hpp"
#include "config/cluster_settings.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

#include <time.h>

namespace cmcp {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds margin(1000), patience_with_etcd(700), between_tries(100);
constexpr int renewals = 5;           // in a lease
constexpr int leases_of_another = 3;  // that a start waits for

nanoseconds now()
{
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

milliseconds until(nanoseconds when)
{
    return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(when - now()));
}

}  // namespace

member_lease::member_lease(etcd_client& etcd, const cluster_settings& config, members& all,
                           std::function<json::object()> about)
    : etcd_(etcd), config_(config), members_(all), about_(std::move(about))
{
}

bool member_lease::is_in_touch() const { return is_ == standing::in && now() < deadline_; }

std::string member_lease::entry() const
{
    auto about = address_of(members_.own());
    for (auto& each : about_()) about[each.key()] = std::move(each.value());
    if (told_all_) about["told"] = true;
    if (leaves_) about[leaves_mark] = true;
    return jsonrpc::write_json(about);
}

// False: another server has it.
awaitable<bool> member_lease::take_name(std::int64_t lease)
{
    const auto key = etcd_names(config_).member(members_.own().name);
    told_all_ = false;
    etcd_transaction wish;
    auto text = entry();
    wish.if_absent(key).put(key, text, lease).read(key);
    const auto outcome = co_await etcd_.commit(std::move(wish));
    told_ = std::move(text);
    if (outcome.done) co_return true;
    const auto* by = outcome.first();
    // An answer that was lost: the name is this lease's.
    if (by != nullptr && by->lease == lease) co_return true;
    const auto about = by != nullptr ? jsonrpc::read_object(by->value) : json::object();
    auto address = text_of(about, "host") + ":" + std::to_string(count_of(about, "port"));
    if (address != in_use_by_)
        log::warning("name_in_use", {{"node", members_.own().name},
                                     {"by", address},
                                     {"advice", "a server that was killed keeps its name for CLUSTER_LEASE seconds"}});
    in_use_by_ = std::move(address);
    co_return false;
}

awaitable<bool> member_lease::try_to_enter()
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(config_.cluster_lease);
    const auto sent = now();
    const auto lease = co_await etcd_.grant(seconds.count());
    const bool has_name = co_await take_name(lease);
    if (!has_name) co_await etcd_.revoke(lease);
    if (!has_name) co_return false;
    lease_ = lease;
    deadline_ = sent + seconds - margin;
    confirmed_ = sent;
    in_use_by_.clear();
    changed_.notify();
    co_return true;
}

awaitable<> member_lease::enter()
{
    const auto end = now() + leases_of_another * config_.cluster_lease;
    left_ = leaves_ = false;
    for (;;) {
        try {
            const bool entered = co_await try_to_enter();
            if (entered) break;
        } catch (const etcd_away&) {
            co_return;  // run() goes on
        }
        if (now() >= end)
            throw config_error("SANDBOX_NODE=" + members_.own().name + " is the name of a server that runs at " +
                               in_use_by_ + ": give each server of the cluster a name of its own");
        co_await pause_for(between_tries);
    }
    const bool goes_on = co_await go_on(true);
    if (!goes_on) is_ = standing::held;
}

// False: it has failed, and is run again.
awaitable<bool> member_lease::go_on(bool is_new)
{
    std::string problem;
    try {
        if (is_new && calls_.settle) co_await calls_.settle();
        // What is settled counts while the lease lasts.
        if (now() >= deadline_) co_return false;
        if (is_ == standing::held && calls_.hold) calls_.hold(false);
        is_ = standing::in;
        log::info("in_touch");
        changed_.notify();
        co_return true;
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    log::warning("not_in_touch", {{"reason", problem}});
    co_return false;
}

void member_lease::hold()
{
    is_ = standing::held;
    log::warning("cut_off", {{"advice", "what runs in sandboxes stands still until etcd answers"}});
    changed_.notify();
    if (calls_.hold) calls_.hold(true);
}

// False: the lease has ended.
awaitable<bool> member_lease::renew()
{
    const auto sent = now();
    const auto limit = is_ == standing::in ? std::min(patience_with_etcd, until(deadline_)) : patience_with_etcd;
    json::object which{{"ID", std::to_string(lease_)}};
    json::object said;
    try {
        auto work = etcd_.ask("lease/keepalive", std::move(which), limit);
        said = co_await with_deadline(std::move(work), limit);
    } catch (const deadline_exceeded&) {
        throw etcd_away("etcd does not answer in time.");
    }
    const auto left = std::chrono::seconds(etcd_number(object_of(said, "result"), "TTL"));
    if (left.count() <= 0) co_return false;
    deadline_ = std::max(deadline_, sent + left - margin);
    confirmed_ = std::max(confirmed_, sent);
    changed_.notify();
    co_return true;
}

bool member_lease::is_confirmed() const { return is_in_touch() && now() - confirmed_ <= config_.cluster_confirm; }

// The lease may have ended, which run() sees by itself.
awaitable<> member_lease::confirm()
{
    const raised_flag asks(confirms_);
    auto renewal = renew();
    co_await if_answered(etcd_, std::move(renewal));
}

awaitable<bool> member_lease::be_sure(milliseconds limit)
{
    const auto end = event::clock::now() + limit;
    const auto begun = now();
    const auto is_sure = [this, begun] { return is_confirmed() || (is_in_touch() && confirmed_ >= begun); };
    while (!is_sure()) {
        if (event::clock::now() >= end) co_return false;
        const bool may_ask = is_ == standing::in && lease_ != 0 && !confirms_ && etcd_.is_there();
        if (may_ask) co_await confirm();
        if (!is_sure()) co_await changed_.wait(std::min(end, event::clock::now() + between_tries));
    }
    co_return true;
}

awaitable<> member_lease::run()
{
    bool is_new = lease_ != 0 && is_ != standing::in;
    while (!left_) {
        const auto began = now();
        bool answered = true;
        try {
            if (lease_ == 0)
                is_new = co_await try_to_enter();
            else {
                const bool lasts = co_await renew();
                if (!lasts) lease_ = 0;
            }
        } catch (const etcd_away&) {
            answered = false;
        } catch (const etcd_refusal& refused) {
            log::warning("not_registered", {{"reason", refused.what()}});
            answered = false;
        }
        if (is_ == standing::in && (lease_ == 0 || now() >= deadline_)) hold();
        bool settled = true;
        if (answered && lease_ != 0 && is_ != standing::in) settled = co_await go_on(is_new);
        if (is_ == standing::in) is_new = false;
        const auto next = began + nanoseconds(config_.cluster_lease) / renewals;
        const bool is_quiet = answered && settled && lease_ != 0;
        const auto pause = is_quiet ? until(next) : between_tries;
        co_await pause_for(pause);
    }
}

awaitable<> member_lease::say_that_it_leaves()
{
    leaves_ = true;
    return tell(told_all_);
}

awaitable<> member_lease::leave()
{
    left_ = true;
    is_ = standing::out;
    co_await say_that_it_leaves();
    const auto lease = std::exchange(lease_, 0);
    if (lease == 0) co_return;
    try {
        co_await etcd_.revoke(lease);
    } catch (const etcd_away& away) {
        log::warning("not_left", {{"reason", away.what()}});
    } catch (const etcd_refusal&) {
        // it has ended
    }
}

awaitable<> member_lease::tell(bool told_all)
{
    told_all_ = told_all;
    auto text = entry();
    if (lease_ == 0 || text == told_) co_return;
    auto news = etcd_.put(etcd_names(config_).member(members_.own().name), text, lease_);
    const auto outcome = co_await if_answered(etcd_, std::move(news));
    if (outcome) told_ = std::move(text);
}

awaitable<std::optional<bool>> member_lease::is_gone(std::string member, milliseconds limit)
{
    const auto key = etcd_names(config_).member(member);
    const auto life = members_.life_of(member);
    const auto end = event::clock::now() + limit;
    std::optional<bool> gone;
    for (;;) {
        std::optional<etcd_entry> registered;
        bool is_known = true;
        try {
            registered = co_await etcd_.get(key);
        } catch (const etcd_away&) {
            is_known = false;
        } catch (const etcd_refusal&) {
            is_known = false;
        }
        if (is_known && !registered) gone = true;
        if (is_known && registered && life != 0 && registered->created != life) gone = false;
        if (gone || event::clock::now() >= end) co_return gone;
        co_await changed_.wait(std::min(end, event::clock::now() + between_tries));
    }
}

// A lease that was not renewed since then ends a whole lease after that at the latest. etcd gives the whole seconds
// that are left.
awaitable<bool> member_lease::is_renewed(std::string member, std::chrono::steady_clock::time_point since)
{
    auto reading = etcd_.get(etcd_names(config_).member(member));
    const auto registered = co_await if_answered(etcd_, std::move(reading));
    if (!registered || !*registered) co_return false;
    json::object which{{"ID", std::to_string((*registered)->lease)}};
    auto asking = etcd_.ask("lease/timetolive", std::move(which));
    const auto lease = co_await if_answered(etcd_, std::move(asking));
    if (!lease) co_return false;
    const std::chrono::seconds left(etcd_number(*lease, "TTL")), whole(etcd_number(*lease, "grantedTTL"));
    co_return left.count() > 0 && std::chrono::steady_clock::now() + left > since + whole;
}

}  // namespace cmcp
