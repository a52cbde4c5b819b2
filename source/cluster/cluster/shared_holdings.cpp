#include "cluster/shared_holdings.hpp"

#include "async/pause.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/read_real.hpp"
#include "jsonrpc/write_json.hpp"
#include "runs/sandbox_error.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cmath>

namespace cmcp {

namespace {

constexpr std::chrono::minutes forgotten_after(1);
constexpr std::chrono::milliseconds longest_pause_of_call(60'000);  // for the next call of a minute
constexpr std::size_t longest_row =
    256 * 1024;  // bytes of what one member has of a principal; more is no member's text
constexpr std::size_t most_of_transaction = 100;  // etcd takes 128
constexpr int most_attempts = 20;
constexpr std::chrono::seconds longest_turn(5);
constexpr std::chrono::milliseconds between_wishes(5);
constexpr std::uint64_t shares_of_calls = 10;  // a server takes a tenth of a minute's calls at once

/// The calls of a minute that all servers share, as quotas::take_call() has them: all may come at once, and then they
/// come back evenly.
struct call_budget {
    double left = 0, at = 0;  // seconds since 1970

    static call_budget read(const etcd_entry* entry, double most, double now)
    {
        const auto text = entry == nullptr ? json::object() : jsonrpc::read_object(entry->value);
        call_budget budget{real_of(text, "left", most), real_of(text, "at", now)};
        // The clocks of servers differ a little.
        const double passed = std::max(0.0, now - budget.at);
        return {std::min(most, budget.left + passed * most / 60), std::max(now, budget.at)};
    }

    std::string text() const { return jsonrpc::write_json(json::object{{"left", left}, {"at", at}}); }
};

bool has_name(const json::object& row, std::string_view name)
{
    const auto* names = row.if_contains("names");
    const auto is_it = [name](const json::value& each) { return each.is_string() && each.get_string() == name; };
    return names != nullptr && names->is_array() &&
           std::any_of(names->get_array().begin(), names->get_array().end(), is_it);
}

}  // namespace

shared_holdings::shared_holdings(asio::any_io_executor executor, parts with, const cluster_settings& config,
                                 quotas& limits, holdings_source own)
    : with_(with),
      names_(config),
      homes_stay_(config.snapshot_store.empty()),
      limits_(limits),
      own_(std::move(own)),
      ending_(std::move(executor))
{
    limits_.count_elsewhere(
        [this](std::string_view principal) -> const principal_limits& { return elsewhere(principal); });
}

shared_holdings::~shared_holdings() { limits_.count_elsewhere({}); }

awaitable<> shared_holdings::listen()
{
    etcd_client::listener to;
    to.wants_all = false;
    to.whole = [this](const std::vector<etcd_entry>&) {
        hears_ = true;
        forget_all();
    };
    to.changed = [this](const etcd_entry& entry, bool) { note_news(entry.key); };
    to.ended = [this] { hears_ = false; };
    return with_.etcd.watch(names_.uses(), std::move(to));
}

awaitable<bool> shared_holdings::tell(bool everything)
{
    std::set<std::string> principals;
    for (const auto& [principal, text] : told_) principals.insert(principal);
    if (own_.listed) principals.merge(own_.listed());  // a sandbox may have been brought here beside any call
    if (everything)
        for (auto& principal : own_.owners()) principals.insert(std::move(principal));
    const bool is_told = co_await tell_changes(std::move(principals), everything);
    co_return is_told;
}

shared_holdings::known& shared_holdings::entry_of(std::string_view principal)
{
    auto& of = known_[etcd_names::encoded(principal)];
    if (of.principal.empty()) of.principal = principal;
    return of;
}

void shared_holdings::learn(known& of, const etcd_outcome* answer, bool fresh)
{
    of.others.clear();
    of.elsewhere = {};
    of.fresh = fresh;
    if (answer == nullptr) return;
    const auto* home = answer->first(1);
    of.home = home == nullptr ? std::string() : home->value;
    of.home_revision = home == nullptr ? 0 : home->modified;
    const auto below = names_.uses_of(of.principal).size();
    for (const auto& row : answer->read.front()) {
        auto member = row.key.substr(below);
        if (member == with_.all.own().name || row.value.size() > longest_row) continue;
        of.others.emplace(std::move(member), jsonrpc::read_object(row.value));
    }
    for (const auto& [member, row] : of.others)
        for (const auto& each : limit_names()) of.elsewhere.*each.member += count_of(row, each.name) * each.unit;
}

// By a member that has told something new. What is under way to here may be older, so it does not count as fresh.
void shared_holdings::note_news(std::string_view key)
{
    const auto row = key.substr(std::min(key.size(), names_.uses().size()));
    const auto at = known_.find(row.substr(0, row.rfind('/')));
    if (at != known_.end()) at->second.fresh = false;
    ++news_;
}

void shared_holdings::forget_all()
{
    for (auto& [name, of] : known_) of.fresh = false;
    ++news_;
}

awaitable<std::optional<etcd_outcome>> shared_holdings::ask_about(std::string principal)
{
    etcd_transaction question;
    question.read_below(names_.uses_of(principal)).read(names_.home(principal));
    auto answer = with_.etcd.commit(std::move(question));
    auto outcome = co_await if_answered(with_.etcd, std::move(answer));
    if (outcome && outcome->read.size() != 2) outcome.reset();
    co_return outcome;
}

awaitable<> shared_holdings::learn_where_needed(std::string principal)
{
    if (entry_of(principal).fresh && hears_) co_return;
    const auto news = news_;
    const auto answer = co_await ask_about(principal);
    learn(entry_of(principal), answer ? &*answer : nullptr, answer && news == news_);
}

const principal_limits& shared_holdings::elsewhere(std::string_view principal)
{
    auto& of = entry_of(principal);
    of.used = event::clock::now();
    return of.elsewhere;
}

// Takes some calls of the shared budget, of which one begins now. Nothing: etcd is away.
awaitable<std::optional<std::chrono::milliseconds>> shared_holdings::take_calls(std::string principal,
                                                                                std::uint64_t most)
{
    const auto key = names_.calls(principal);
    const auto whole = static_cast<double>(most);
    std::optional<std::chrono::milliseconds> wait;
    for (int tries = 0; tries != most_attempts; ++tries) {
        auto question = with_.etcd.get(key);
        const auto entry = co_await if_answered(with_.etcd, std::move(question));
        if (!entry) break;
        const auto* before = *entry ? &**entry : nullptr;
        auto budget = call_budget::read(before, whole, seconds_since_1970());
        if (budget.left < 1)
            co_return std::chrono::milliseconds(std::lround(std::ceil(60'000 * (1 - budget.left) / whole)));
        const auto share =
            std::clamp<std::uint64_t>(most / shares_of_calls, 1, static_cast<std::uint64_t>(budget.left));
        budget.left -= static_cast<double>(share);
        etcd_transaction change;
        change.if_modified_in(key, before == nullptr ? 0 : before->modified).put(key, budget.text());
        auto commit = with_.etcd.commit(std::move(change));
        const auto outcome = co_await if_answered(with_.etcd, std::move(commit));
        if (!outcome) break;
        if (!outcome->done) continue;
        entry_of(principal).calls += share - 1;
        wait = std::chrono::milliseconds(0);
        break;
    }
    co_return wait;
}

awaitable<std::chrono::milliseconds> shared_holdings::begin_call(std::string principal, bool counts)
{
    const auto most = limits_.whole(principal).calls;
    elsewhere(principal);  // counts as used
    co_await learn_where_needed(principal);
    if (!counts || most == 0) co_return std::chrono::milliseconds(0);
    auto& own = entry_of(principal).calls;
    if (own > 0) {
        --own;
        co_return std::chrono::milliseconds(0);
    }
    const auto wait = co_await take_calls(principal, most);
    if (!wait) co_return limits_.take_call(principal);
    if (wait->count() != 0) limits_.count_refused_call();
    co_return std::min(*wait, longest_pause_of_call);
}

awaitable<> shared_holdings::end_call(std::string principal)
{
    std::set<std::string> one;
    one.insert(std::move(principal));
    co_await tell_changes(std::move(one), false);
}

awaitable<bool> shared_holdings::tell_changes(std::set<std::string> principals, bool again)
{
    if (with_.lease.number() == 0) co_return false;
    std::map<std::string, std::string> news;
    std::map<std::string, bool> homes;  // whether it is claimed
    for (const auto& principal : principals) {
        const auto own = own_.of(principal);
        const bool is_claimed = flag_of(own, "claimed");
        auto text = own.empty() ? std::string() : jsonrpc::write_json(own);
        const auto before = told_.find(principal);
        const bool is_known = before == told_.end() ? text.empty() : before->second == text;
        if (is_known && !again) continue;
        if (is_claimed || flag_of(own, "home")) homes[principal] = is_claimed;
        news.emplace(principal, std::move(text));
    }
    const auto lease = with_.lease.number();
    for (auto at = news.begin(); at != news.end();) {
        etcd_transaction some;
        const auto first = at;
        for (; at != news.end() && some.size() != most_of_transaction; ++at) {
            const auto key = names_.uses_of(at->first) + with_.all.own().name;
            if (at->second.empty())
                some.remove(key);
            else
                some.put(key, at->second, lease);
        }
        auto commit = with_.etcd.commit(std::move(some));
        const auto outcome = co_await if_answered(with_.etcd, std::move(commit));
        if (!outcome) co_return false;
        for (auto each = first; each != at; ++each) {
            if (each->second.empty())
                told_.erase(each->first);
            else
                told_[each->first] = each->second;
        }
    }
    for (const auto& [principal, is_claimed] : homes) co_await tell_home(principal, is_claimed);
    co_return true;
}

// A claimed default sandbox is nowhere else; one of which there are only files stays where the first server said.
awaitable<> shared_holdings::tell_home(std::string principal, bool is_claimed)
{
    const auto key = names_.home(principal);
    const auto& own = with_.all.own().name;
    if (entry_of(principal).fresh && entry_of(principal).home == own) co_return;
    etcd_transaction home;
    if (!is_claimed) home.if_absent(key);
    home.put(key, own);
    auto commit = with_.etcd.commit(std::move(home));
    co_await if_answered(with_.etcd, std::move(commit));
    entry_of(principal).fresh = false;
}

// Outside of calls, as for WebSockets, the figures are at most as old as a round.
awaitable<> shared_holdings::learn_again()
{
    const auto now = event::clock::now();
    std::erase_if(known_, [now](const auto& each) { return now - each.second.used > forgotten_after; });
    std::vector<std::string> principals;
    for (const auto& [name, of] : known_)
        if (!of.fresh || !hears_) principals.push_back(of.principal);
    for (const auto& principal : principals) co_await learn_where_needed(principal);
}

std::string shared_holdings::free_home_for(std::string_view principal) const
{
    const auto takes = [this](const std::string& member) { return with_.loads.takes_home(member); };
    return with_.all.homes().home_of(principal, takes);
}

// Files that no storage keeps are at their server alone, also while that is away.
bool shared_holdings::is_home(const std::string& member) const
{
    return with_.all.has(member) || (homes_stay_ && !member.empty());
}

std::string shared_holdings::known_home_of(std::string_view principal) const
{
    const auto at = known_.find(etcd_names::encoded(principal));
    if (at != known_.end() && is_home(at->second.home)) return at->second.home;
    return with_.all.home_of(principal);
}

// The first server that asks decides for all.
awaitable<std::string> shared_holdings::home_of(std::string principal)
{
    elsewhere(principal);
    co_await learn_where_needed(principal);
    const auto& known = entry_of(principal);
    if (is_home(known.home)) co_return known.home;
    const auto key = names_.home(principal);
    etcd_transaction choice;
    choice.if_modified_in(key, known.home_revision).put(key, free_home_for(principal)).read(key);
    auto commit = with_.etcd.commit(std::move(choice));
    const auto outcome = co_await if_answered(with_.etcd, std::move(commit));
    if (outcome && outcome->first() != nullptr) {
        entry_of(principal).home = outcome->first()->value;
        entry_of(principal).home_revision = outcome->first()->modified;
    }
    co_return known_home_of(principal);
}

// A member without an entry has told all that it has, or else it is asked. The members are read together with what they
// have, because one that begins anew has told nothing.
awaitable<std::set<std::string>> shared_holdings::without_any(std::string principal)
{
    std::set<std::string> none;
    etcd_transaction question;
    question.read_below(names_.members()).read_below(names_.uses_of(principal));
    auto answer = with_.etcd.commit(std::move(question));
    const auto outcome = co_await if_answered(with_.etcd, std::move(answer));
    if (!outcome || outcome->read.size() != 2) co_return none;
    for (const auto& each : outcome->read[0])
        if (flag_of(jsonrpc::read_object(each.value), "told")) none.insert(each.key.substr(names_.members().size()));
    for (const auto& each : outcome->read[1]) none.erase(each.key.substr(names_.uses_of(principal).size()));
    co_return none;
}

/// The turn of one that is made.
struct shared_holdings::making {
    making(shared_holdings& by, std::string principal, std::shared_ptr<turns::turn> own)
        : by_(by), lives_(by.lives_), principal_(std::move(principal)), own_(std::move(own))
    {
    }
    ~making()
    {
        if (!lives_.expired()) by_.ending_.spawn("end of a turn to make sandboxes", by_.end_turn(principal_, own_));
    }
    making(const making&) = delete;
    making& operator=(const making&) = delete;

private:
    shared_holdings& by_;
    std::weak_ptr<int> lives_;
    std::string principal_;
    std::shared_ptr<turns::turn> own_;
};

// False: etcd is away, or does not give the turn in time.
awaitable<bool> shared_holdings::take_turn(std::string principal)
{
    const auto key = names_.making(principal);
    const auto end = event::clock::now() + longest_turn;
    do {
        etcd_transaction wish;
        wish.if_absent(key).put(key, with_.all.own().name, with_.lease.number()).read(key);
        auto commit = with_.etcd.commit(std::move(wish));
        const auto outcome = co_await if_answered(with_.etcd, std::move(commit));
        if (!outcome) co_return false;
        // What has this server's name is this turn's, whose answer was lost, or one that could not be ended.
        const auto* has = outcome->first();
        const bool is_own = has != nullptr && has->value == with_.all.own().name;
        if (outcome->done || is_own) co_return true;
        co_await pause_for(between_wishes);
    } while (event::clock::now() < end);
    co_return false;
}

// What was made is told before others have their turn.
awaitable<> shared_holdings::end_turn(std::string principal, std::shared_ptr<turns::turn> own)
{
    std::set<std::string> one;
    one.insert(principal);
    co_await tell_changes(std::move(one), false);
    etcd_transaction end;
    end.remove(names_.making(principal));
    auto commit = with_.etcd.commit(std::move(end));
    co_await if_answered(with_.etcd, std::move(commit));
    own.reset();
}

awaitable<std::shared_ptr<void>> shared_holdings::begin_making(std::string principal, std::string name)
{
    std::shared_ptr<void> turn;
    if (with_.lease.number() == 0 || !with_.etcd.is_there()) co_return turn;
    auto own = co_await making_.take(principal);
    auto shared_own = std::make_shared<turns::turn>(std::move(own));
    const bool is_taken = co_await take_turn(principal);
    if (!is_taken) co_return turn;
    turn = std::make_shared<making>(*this, principal, std::move(shared_own));
    entry_of(principal).fresh = false;
    co_await learn_where_needed(principal);
    for (const auto& [member, row] : entry_of(principal).others)
        if (!name.empty() && has_name(row, name))
            throw sandbox_error("NameTaken", "There is a sandbox named \"" + name + "\" at the server " + member +
                                                 " already; choose another name, or use that one.");
    co_return turn;
}

bool shared_holdings::has_own(const std::string& principal, std::string_view name) const
{
    return has_name(own_.of(principal), name);
}

awaitable<std::string> shared_holdings::node_with(std::string principal, std::string name)
{
    const auto own = own_.of(principal);
    if (!name.empty() && has_name(own, name)) co_return std::string();
    elsewhere(principal);
    co_await learn_where_needed(principal);
    std::string best;
    double newest = real_of(own, "latest");
    for (const auto& [member, row] : entry_of(principal).others) {
        if (!name.empty() && has_name(row, name)) co_return member;
        if (!name.empty() || real_of(row, "latest") <= newest) continue;
        newest = real_of(row, "latest");
        best = member;
    }
    co_return best;
}

}  // namespace cmcp
