#include "identity/quotas.hpp"

#include "config/settings.hpp"
#include "identity/identity_store.hpp"
#include "metrics/registry.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cmcp {

namespace {

constexpr auto fresh_for = std::chrono::seconds(1);
constexpr auto one_minute = std::chrono::minutes(1);  // then every call that was taken has come back
constexpr auto one_hour = std::chrono::hours(1);      // and then every byte
constexpr std::size_t many_principals = 10'000;
constexpr double mebibyte = 1u << 20;

void count_refusal(std::string_view quota)
{
    static auto& refusals = metrics::all().counters(
        "cmcp_quota_refusals_total", "What limits of principals have refused, by name of the limit.", {"quota"});
    refusals.at({quota}).add();
}

std::string number_text(std::uint64_t value, const limit_name& of)
{
    if (of.unit == 1) return std::to_string(value);
    return std::to_string(std::llround(static_cast<double>(value) / mebibyte)) + " MiB";
}

// Bytes that make a connection worth its beginning.
double enough_to_begin(std::uint64_t most_in_hour)
{
    return std::min(static_cast<double>(most_in_hour) / 60, mebibyte);
}

}  // namespace

quotas::quotas(const settings& config, std::function<clock::time_point()> now)
    : config_(config), now_(std::move(now)), everybody_(limits_from(config))
{
}

quotas::~quotas() = default;

identity_store* quotas::store()
{
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
    return store_.get();
}

principal_limits quotas::read(std::string_view principal)
{
    auto limits = everybody_;
    apply_named(limits, config_, principal);
    if (principal.empty() || store() == nullptr) return limits;
    for (const auto& own : store()->limits_of(principal)) {
        const auto* const of = find_limit(own.name);
        if (of != nullptr) limits.*of->member = own.value * of->unit;
    }
    return limits;
}

void quotas::forget_unused(clock::time_point now)
{
    if (known_.size() < many_principals) return;
    std::erase_if(known_, [now](const auto& each) { return is_whole(each.second, now); });
}

quotas::entry& quotas::look_up(std::string_view principal, clock::time_point now)
{
    const auto known = known_.find(principal);
    if (known != known_.end() && now - known->second.looked < fresh_for) return known->second;
    auto limits = read(principal);
    if (known != known_.end()) {
        known->second.calls.widen(known->second.limits.calls, limits.calls);
        known->second.network.widen(known->second.limits.network, limits.network);
        known->second.limits = limits;
        known->second.looked = now;
        return known->second;
    }
    forget_unused(now);
    const allowance calls{static_cast<double>(limits.calls), now}, network{static_cast<double>(limits.network), now};
    return known_.emplace(std::string(principal), entry{limits, {}, now, calls, network}).first->second;
}

// Nothing is known of the principal that a new entry would not say.
bool quotas::is_whole(const entry& own, clock::time_point now)
{
    const bool has_moved = own.limits.network != 0 && own.network.left < static_cast<double>(own.limits.network);
    return now - own.looked > one_minute && (!has_moved || now - own.network.counted > one_hour);
}

void quotas::look_again()
{
    for (auto& [principal, own] : known_) own.looked -= fresh_for;
}

const principal_limits& quotas::whole(std::string_view principal) { return look_up(principal, now_()).limits; }

// Where nothing may be had, 1 byte of the disk is left, because 0 stands for any number elsewhere.
const principal_limits& quotas::of(std::string_view principal)
{
    auto& own = look_up(principal, now_());
    if (!elsewhere_) return own.limits;
    const auto& elsewhere_now = elsewhere_(principal);
    own.left = own.limits;
    for (const auto& each : limit_names())
        if (const auto had = elsewhere_now.*each.member; had != 0)
            own.left.*each.member -= std::min(own.left.*each.member, had);
    if (own.limits.disk != 0) own.left.disk = std::max<std::uint64_t>(1, own.left.disk);
    return own.left;
}

std::string quotas::refusal_in_words(std::string_view principal, std::uint64_t principal_limits::*member)
{
    const auto& limits = whole(principal);
    const auto& name = name_of(member);
    count_refusal(name.name);
    const auto elsewhere = elsewhere_ ? elsewhere_(principal).*member : 0;
    const auto there = elsewhere == 0 ? "" : ", of which " + number_text(elsewhere, name) + " at other servers";
    const auto number = " (" + number_text(limits.*member, name) + there + ")";
    if (limits.*member == everybody_.*member) return std::string(name.setting) + " allows" + number;
    return "your quota of " + std::string(name.name) + " allows" + number;
}

void quotas::allowance::refill(std::uint64_t most, std::chrono::seconds each, clock::time_point now)
{
    const auto all = static_cast<double>(most), period = static_cast<double>(each.count());
    left += all / period * std::chrono::duration<double>(now - counted).count();
    left = std::min(left, all);
    counted = now;
}

void quotas::allowance::widen(std::uint64_t before, std::uint64_t most)
{
    if (most > before) left += static_cast<double>(most - before);
}

bool quotas::take_network(std::string_view principal, std::uint64_t bytes)
{
    const auto now = now_();
    auto& own = look_up(principal, now);
    if (own.limits.network == 0) return true;
    own.network.refill(own.limits.network, one_hour, now);
    own.network.left -= static_cast<double>(bytes);
    return own.network.left >= (bytes == 0 ? enough_to_begin(own.limits.network) : 0);
}

std::chrono::milliseconds quotas::network_wait(std::string_view principal)
{
    const auto now = now_();
    auto& own = look_up(principal, now);
    if (own.limits.network == 0) return {};
    own.network.refill(own.limits.network, one_hour, now);
    const double a_millisecond = static_cast<double>(own.limits.network) / 3'600'000;
    const double lacking = std::max(0.0, enough_to_begin(own.limits.network) - own.network.left);
    return std::chrono::milliseconds(std::llround(std::ceil(lacking / a_millisecond)));
}

std::optional<std::uint64_t> quotas::calls_left(std::string_view principal)
{
    const auto now = now_();
    auto& own = look_up(principal, now);
    if (own.limits.calls == 0) return std::nullopt;
    own.calls.refill(own.limits.calls, one_minute, now);
    return static_cast<std::uint64_t>(own.calls.left);
}

awaitable<std::chrono::milliseconds> quotas::begin_call(std::string principal)
{
    if (!counter_) co_return take_call(principal);
    const auto wait = co_await counter_(principal);
    co_return wait;
}

std::int64_t quotas::seconds_to_wait(std::chrono::milliseconds wait)
{
    return std::chrono::ceil<std::chrono::seconds>(wait).count();
}

std::string quotas::refusal_of_call(std::chrono::milliseconds wait)
{
    const auto seconds = seconds_to_wait(wait);
    return "Too many calls in a minute: your quota of calls is used up. Call again in " + std::to_string(seconds) +
           (seconds == 1 ? " second." : " seconds.");
}

void quotas::count_refused_call() { count_refusal("calls"); }

std::chrono::milliseconds quotas::take_call(std::string_view principal)
{
    const auto now = now_();
    auto& own = look_up(principal, now);
    if (own.limits.calls == 0) return {};
    own.calls.refill(own.limits.calls, one_minute, now);
    const double a_second = static_cast<double>(own.limits.calls) / 60;
    if (own.calls.left < 1) count_refusal("calls");
    if (own.calls.left < 1)
        return std::chrono::milliseconds(std::llround(std::ceil(1000 * (1 - own.calls.left) / a_second)));
    own.calls.left -= 1;
    return {};
}

}  // namespace cmcp
