#include "cluster/shared_holdings.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::chrono::minutes forgotten_after(1);
constexpr std::chrono::milliseconds longest_pause_of_call(60'000);  // for the next call of a minute
constexpr std::size_t longest_row =
    256 * 1024;  // bytes of what one member has of a principal; more is no member's text

// A bucket whose calls of a minute come back evenly, as quotas::take_call() has it: the milliseconds to wait.
constexpr auto take_call = R"(
local time = redis.call('TIME')
local now, most = time[1] + time[2] / 1e6, tonumber(ARGV[1])
local kept = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = math.min(most, (tonumber(kept[1]) or most) + (now - (tonumber(kept[2]) or now)) * most / 60)
if left < 1 then return math.ceil(60000 * (1 - left) / most) end
redis.call('HSET', KEYS[1], 'left', tostring(left - 1), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], 60000)
return 0)";

std::string holdings_key(const std::string& principal) { return "cmcp:has:" + principal; }

constexpr std::string_view home_field = ":home";  // no member is named so

std::string home_in(const directory_reply& hash)
{
    for (std::size_t i = 0; i + 1 < hash.items.size(); i += 2)
        if (hash.items[i].text == home_field) return hash.items[i + 1].text;
    return {};
}

double latest_of(const json::object& row)
{
    const auto* when = row.if_contains("latest");
    return when != nullptr && when->is_number() ? when->to_number<double>() : 0;
}

bool has_name(const json::object& row, std::string_view name)
{
    const auto* names = row.if_contains("names");
    const auto is_it = [name](const json::value& each) { return each.is_string() && each.get_string() == name; };
    return names != nullptr && names->is_array() &&
           std::any_of(names->get_array().begin(), names->get_array().end(), is_it);
}

}  // namespace

shared_holdings::shared_holdings(directory& told_in, const members& all, heartbeats& beats, quotas& limits,
                                 holdings_source own)
    : directory_(told_in), members_(all), beats_(beats), limits_(limits), own_(std::move(own))
{
    directory_.listen([this](const std::string& principal) { note_news(principal); });
    limits_.count_elsewhere(
        [this](std::string_view principal) -> const principal_limits& { return elsewhere(principal); });
}

shared_holdings::~shared_holdings() { limits_.count_elsewhere({}); }

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

// Nobody can use what a member has that is gone, so it does not count. What one had in an earlier life does not,
// either.
shared_holdings::rows shared_holdings::rows_of(const directory_reply& hash) const
{
    rows all;
    for (std::size_t i = 0; i + 1 < hash.items.size(); i += 2) {
        if (hash.items[i].text == home_field) continue;
        if (hash.items[i + 1].text.size() > longest_row || beats_.load_of(hash.items[i].text) == nullptr) continue;
        auto row = jsonrpc::read_object(hash.items[i + 1].text);
        if (beats_.is_alive(hash.items[i].text, view_of(row, "mark"))) all.emplace(hash.items[i].text, std::move(row));
    }
    return all;
}

bool shared_holdings::is_fresh(std::string_view principal) const
{
    const auto at = known_.find(principal);
    return at != known_.end() && at->second.fresh && at->second.connection == directory_.connections() &&
           at->second.alive == beats_.changes();
}

void shared_holdings::learn(const std::string& principal, const directory_reply* hash, bool fresh)
{
    auto& of = known_[principal];
    auto others = hash == nullptr ? rows() : rows_of(*hash);
    if (hash != nullptr) of.home = home_in(*hash);
    of.elsewhere = {};
    for (const auto& [member, row] : others)
        for (const auto& each : limit_names()) of.elsewhere.*each.member += count_of(row, each.name) * each.unit;
    of.others = std::move(others);
    of.fresh = fresh;
    of.connection = directory_.connections();
    of.alive = beats_.changes();
}

// By a member that has told something new. What is under way to here may be older, so it does not count as fresh.
void shared_holdings::note_news(const std::string& principal)
{
    if (const auto at = known_.find(principal); at != known_.end()) at->second.fresh = false;
    ++news_;
}

awaitable<> shared_holdings::learn_where_needed(std::string principal)
{
    if (is_fresh(principal)) co_return;
    const auto news = news_;
    std::vector<directory_command> question;
    question.push_back({"HGETALL", holdings_key(principal)});
    const auto answers = co_await directory_.ask(std::move(question));
    learn(principal, answers.empty() ? nullptr : &answers[0], !answers.empty() && news == news_);
}

const principal_limits& shared_holdings::elsewhere(std::string_view principal)
{
    auto at = known_.find(principal);
    if (at == known_.end()) at = known_.emplace(std::string(principal), known{}).first;
    at->second.used = event::clock::now();
    return at->second.elsewhere;
}

awaitable<std::chrono::milliseconds> shared_holdings::begin_call(std::string principal, bool counts)
{
    const auto most = limits_.whole(principal).calls;
    elsewhere(principal);  // counts as used
    co_await learn_where_needed(principal);
    if (!counts || most == 0) co_return std::chrono::milliseconds(0);
    std::vector<directory_command> taken;
    taken.push_back({"EVAL", take_call, "1", "cmcp:calls:" + principal, std::to_string(most)});
    const auto answers = co_await directory_.ask(std::move(taken));
    if (answers.empty() || answers[0].is != directory_reply::kind::number) co_return limits_.take_call(principal);
    if (answers[0].number != 0) limits_.count_refused_call();
    co_return std::chrono::milliseconds(std::clamp<std::int64_t>(answers[0].number, 0, longest_pause_of_call.count()));
}

awaitable<> shared_holdings::end_call(std::string principal)
{
    std::set<std::string> one;
    one.insert(std::move(principal));
    co_await tell_changes(std::move(one), false);
}

awaitable<bool> shared_holdings::tell_changes(std::set<std::string> principals, bool again)
{
    std::vector<directory_command> commands;
    std::map<std::string, std::string> news;
    for (const auto& principal : principals) {
        auto own = own_.of(principal);
        const bool is_home = flag_of(own, "home");
        const bool is_claimed = flag_of(own, "claimed");
        if (!own.empty()) own["mark"] = beats_.own_mark();
        auto text = own.empty() ? std::string() : jsonrpc::write_json(own);
        const auto before = told_.find(principal);
        const bool is_known = before == told_.end() ? text.empty() : before->second == text;
        if (is_known && !again) continue;
        if (text.empty())
            commands.push_back({"HDEL", holdings_key(principal), members_.own().name});
        else
            commands.push_back({"HSET", holdings_key(principal), members_.own().name, text});
        if (is_home || is_claimed)
            commands.push_back({is_claimed ? "HSET" : "HSETNX", holdings_key(principal), std::string(home_field),
                                members_.own().name});
        commands.push_back({"EXPIRE", holdings_key(principal), told_for_seconds});
        commands.push_back({"PUBLISH", directory::news_channel, principal});
        news.emplace(principal, std::move(text));
    }
    if (again) commands.push_back(heartbeats::told_all(members_.own().name));
    if (commands.empty()) co_return true;
    const auto answers = co_await directory_.ask(std::move(commands));
    if (answers.empty()) co_return false;
    for (auto& [principal, text] : news) {
        if (text.empty())
            told_.erase(principal);
        else
            told_[principal] = text;
    }
    co_return true;
}

// Outside of calls, as for WebSockets, the figures are at most as old as a beat.
awaitable<> shared_holdings::learn_again()
{
    const auto now = event::clock::now();
    std::erase_if(known_, [now](const auto& each) { return now - each.second.used > forgotten_after; });
    std::vector<directory_command> commands;
    std::vector<std::string> principals;
    for (const auto& [principal, of] : known_) {
        commands.push_back({"HGETALL", holdings_key(principal)});
        principals.push_back(principal);
    }
    if (commands.empty()) co_return;
    const auto news = news_;
    const auto answers = co_await directory_.ask(std::move(commands));
    for (std::size_t i = 0; i < principals.size(); ++i)
        if (known_.contains(principals[i]))
            learn(principals[i], answers.empty() ? nullptr : &answers[i], !answers.empty() && news == news_);
}

std::string shared_holdings::free_home_for(std::string_view principal) const
{
    const auto takes = [this](const std::string& member) { return beats_.takes_home(member); };
    return members_.homes().home_of(principal, takes);
}

std::string shared_holdings::known_home_of(std::string_view principal) const
{
    const auto at = known_.find(principal);
    if (at != known_.end() && members_.has(at->second.home)) return at->second.home;
    return members_.home_of(principal);
}

// The first server that asks decides for all.
awaitable<std::string> shared_holdings::home_of(std::string principal)
{
    elsewhere(principal);
    co_await learn_where_needed(principal);
    const std::string known = known_[principal].home;
    if (members_.has(known)) co_return known;
    auto chosen_home = free_home_for(principal);
    std::vector<directory_command> commands;
    if (!known.empty()) commands.push_back({"HDEL", holdings_key(principal), std::string(home_field)});
    commands.push_back({"HSETNX", holdings_key(principal), std::string(home_field), std::move(chosen_home)});
    commands.push_back({"EXPIRE", holdings_key(principal), told_for_seconds});
    commands.push_back({"HGET", holdings_key(principal), std::string(home_field)});
    const auto answers = co_await directory_.ask(std::move(commands));
    if (!answers.empty()) known_[principal].home = answers.back().text;
    co_return known_home_of(principal);
}

// A member without an entry has told all that it has, or else it is asked.
awaitable<std::set<std::string>> shared_holdings::without_any(std::string principal)
{
    std::vector<directory_command> question;
    question.push_back({"HGETALL", holdings_key(principal)});
    question.push_back(heartbeats::who_told_all(members_));
    std::set<std::string> none;
    if (members_.others().empty()) co_return none;
    const auto answers = co_await directory_.ask(std::move(question));
    if (answers.size() != 2) co_return none;
    for (std::size_t i = 0; i < answers[1].items.size() && i < members_.others().size(); ++i)
        if (answers[1].items[i].is == directory_reply::kind::text) none.insert(members_.others()[i].name);
    for (std::size_t i = 0; i + 1 < answers[0].items.size(); i += 2) none.erase(answers[0].items[i].text);
    co_return none;
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
    double newest = latest_of(own);
    for (const auto& [member, row] : known_[principal].others) {
        if (!name.empty() && has_name(row, name)) co_return member;
        if (!name.empty() || latest_of(row) <= newest) continue;
        newest = latest_of(row);
        best = member;
    }
    co_return best;
}

}  // namespace cmcp
