#include "cluster/member_watch.hpp"

#include "async/event.hpp"
#include "cluster/member_line.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace cmcp {

using watch_clock = std::chrono::steady_clock;

namespace {

// A time that is still to come is none that can be trusted, and counts as now.
bool was_touched_within(const std::filesystem::path& file, std::chrono::milliseconds time)
{
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return false;
    const auto when = std::chrono::system_clock::from_time_t(about.st_mtim.tv_sec);
    return std::chrono::system_clock::now() < when + time + std::chrono::seconds(1);
}

// False: it cannot be remembered, so nothing is promised.
bool touch(const std::filesystem::path& file)
{
    const unique_fd open(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    return open && ::futimens(open.get(), nullptr) == 0;
}

}  // namespace

struct member_watch::state {
    using self = std::shared_ptr<state>;
    using lines = std::vector<std::shared_ptr<member_line>>;
    using time = watch_clock::time_point;
    enum class standing { cut_off, in_touch, leaving };

    state(asio::any_io_executor executor, const members& all, std::shared_ptr<member_links> to, bool active,
          std::filesystem::path file, watch_times times, watch_pace how_often)
        : others(all.others()),
          links(std::move(to)),
          promises(std::move(file)),
          votes(names(), active, watch_clock::now(), was_touched_within(promises, times.promise), times),
          pace(how_often),
          questions(executor)
    {
    }

    std::vector<std::string> names() const;
    bool has(std::string_view member) const { return std::ranges::count(others, member, &cluster_member::name) != 0; }
    bool is_in_touch() const;
    bool has_verdict(std::string_view about) const;
    void take_answer(const std::string& by, bool acknowledged, time sent);
    bool has_answered_since(const std::string& member, time when) const;
    lines lines_beside(std::string_view member) const;
    void begin_leaving();
    time next_look() const { return is == standing::in_touch ? votes.in_touch_until() : time::max(); }

    static awaitable<> beat(self of, cluster_member to);
    static awaitable<> settle(self of);
    static awaitable<bool> enter(self of);
    static awaitable<bool> leave(self of);
    static awaitable<bool> run(call what, std::string name);
    static awaitable<std::optional<bool>> is_gone(self of, std::string member, time until);
    static void ask_all(const self& of, const std::string& about, const lines& all);
    static awaitable<> ask(self of, std::shared_ptr<member_line> line, std::string about, time when);

    std::vector<cluster_member> others;
    std::shared_ptr<member_links> links;
    std::filesystem::path promises;
    member_votes votes;
    watch_pace pace;
    call on_in_touch, on_cut_off;
    standing is = standing::cut_off;
    std::uint64_t admitted = 0;            // the epoch in which this server counts as in touch
    std::map<std::string, time> answered;  // by whom, and when the beat was sent
    event changed;                         // answers have come
    task_group questions;
};

std::vector<std::string> member_watch::state::names() const
{
    std::vector<std::string> all;
    for (const auto& each : others) all.push_back(each.name);
    return all;
}

// Between two epochs others may have taken over, though no look has seen that this server was cut off.
bool member_watch::state::is_in_touch() const
{
    if (!votes.is_active()) return true;
    return is == standing::in_touch && admitted == votes.epoch() && votes.is_in_touch(watch_clock::now());
}

bool member_watch::state::has_verdict(std::string_view about) const
{
    return is_in_touch() && votes.has_verdict(about, watch_clock::now());
}

void member_watch::state::take_answer(const std::string& by, bool acknowledged, time sent)
{
    answered[by] = sent;
    if (acknowledged) votes.note_acknowledged(by, sent, watch_clock::now());
    changed.notify();
}

bool member_watch::state::has_answered_since(const std::string& member, time when) const
{
    const auto at = answered.find(member);
    return at != answered.end() && at->second >= when;
}

member_watch::state::lines member_watch::state::lines_beside(std::string_view member) const
{
    lines all;
    for (const auto& each : others)
        if (each.name != member) all.push_back(std::make_shared<member_line>(links, each));
    return all;
}

awaitable<> member_watch::state::beat(self of, cluster_member to)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    member_line line(of->links, to);
    for (;;) {
        const auto sent = watch_clock::now();
        const auto answer = co_await line.ask("/member/beat", of->pace.question);
        if (answer) of->take_answer(to.name, *answer, sent);
        timer.expires_at(sent + of->pace.beat);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

// Enters and leaves one after the other, so that the callbacks never overlap.
awaitable<> member_watch::state::settle(self of)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    for (;;) {
        bool ran = true;
        if (of->is == standing::in_touch && !of->is_in_touch()) of->begin_leaving();
        if (of->is == standing::leaving)
            ran = co_await leave(of);
        else if (of->is == standing::cut_off && of->votes.is_in_touch(watch_clock::now()))
            ran = co_await enter(of);
        else
            co_await of->changed.wait(of->next_look());
        if (ran) continue;
        timer.expires_after(of->pace.beat);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

void member_watch::state::begin_leaving()
{
    is = standing::leaving;
    log::warning("cut_off", {{"members_in_touch", votes.count_in_touch(watch_clock::now())}, {"of", others.size()}});
}

awaitable<bool> member_watch::state::leave(self of)
{
    const bool ran = co_await run(of->on_cut_off, "cut_off");
    if (ran) of->is = standing::cut_off;
    co_return ran;
}

// A look at what others have taken over is worth nothing when this server was cut off meanwhile.
awaitable<bool> member_watch::state::enter(self of)
{
    const auto epoch = of->votes.epoch();
    const bool ran = co_await run(of->on_in_touch, "in_touch");
    const auto now = watch_clock::now();
    if (!ran || epoch != of->votes.epoch() || !of->votes.is_in_touch(now)) co_return ran;
    of->admitted = epoch;
    of->is = standing::in_touch;
    log::info("in_touch");
    of->changed.notify();
    co_return true;
}

// False: it has failed.
awaitable<bool> member_watch::state::run(call what, std::string name)
{
    std::string failure;
    try {
        if (what) co_await what();
        co_return true;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;
        failure = e.what();
    } catch (const std::exception& e) {
        failure = e.what();
    }
    log::error("watch_failed", {{"at", name}, {"error", failure}});
    co_return false;
}

awaitable<std::optional<bool>> member_watch::state::is_gone(self of, std::string member, time until)
{
    const auto began = watch_clock::now();
    const auto all = of->lines_beside(member);
    auto next = began;
    for (auto now = began; !of->has_verdict(member); now = watch_clock::now()) {
        if (of->has_answered_since(member, began)) co_return false;
        if (now >= until) co_return std::nullopt;
        if (now >= next) ask_all(of, member, all);
        if (now >= next) next = now + of->pace.again;
        co_await of->changed.wait(std::min(next, until));
    }
    co_return true;
}

void member_watch::state::ask_all(const self& of, const std::string& about, const lines& all)
{
    const auto now = watch_clock::now();
    if (!of->is_in_touch() || !of->votes.may_vote(about, now)) return;
    if (!touch(of->promises) || !of->votes.ask(about, now)) return;
    for (const auto& line : all)
        if (!line->is_busy()) of->questions.spawn("vote of " + line->to().name, ask(of, line, about, now));
}

awaitable<> member_watch::state::ask(self of, std::shared_ptr<member_line> line, std::string about, time when)
{
    const auto granted = co_await line->ask("/member/vote?about=" + about, of->pace.question);
    if (!granted.value_or(false)) co_return;
    of->votes.note_granted(about, line->to().name, when);
    of->changed.notify();
}

member_watch::member_watch(asio::any_io_executor executor, const members& all, std::shared_ptr<member_links> links,
                           bool active, std::filesystem::path promises, watch_times times, watch_pace pace)
    : state_(std::make_shared<state>(executor, all, std::move(links), active, std::move(promises), times, pace))
{
    if (!is_active()) return;
    metrics::all().observe(
        state_.get(), "cmcp_members_in_touch",
        "Other servers of the cluster that have acknowledged a beat a moment ago.",
        [of = state_.get()] { return static_cast<double>(of->votes.count_in_touch(watch_clock::now())); });
}

member_watch::~member_watch() { metrics::all().remove(state_.get()); }

bool member_watch::is_active() const { return state_->votes.is_active(); }

void member_watch::on_change(call in_touch, call cut_off)
{
    state_->on_in_touch = std::move(in_touch);
    state_->on_cut_off = std::move(cut_off);
}

void member_watch::start(task_group& tasks)
{
    if (!is_active()) return;
    for (const auto& each : state_->others) tasks.spawn("beats to " + each.name, state::beat(state_, each));
    tasks.spawn("watch of the members", state::settle(state_));
}

bool member_watch::is_in_touch() const { return state_->is_in_touch(); }

awaitable<std::optional<bool>> member_watch::is_gone(std::string member, std::chrono::milliseconds limit)
{
    auto of = state_;
    if (!of->votes.is_active() || !of->has(member)) co_return false;
    const auto until = watch_clock::now() + limit;
    const auto gone = co_await state::is_gone(of, member, until);
    if (gone.value_or(false)) log::warning("verdict", {{"gone", member}});
    co_return gone;
}

bool member_watch::take_beat(std::string_view from) { return state_->votes.take_beat(from, watch_clock::now()); }

bool member_watch::vote(std::string_view from, std::string_view about)
{
    const auto now = watch_clock::now();
    if (from == about || !state_->has(from)) return false;
    const bool is_new = !state_->votes.is_suspended(about, now);
    // A vote that is refused promises nothing, so the next life of this member has nothing to keep.
    const bool may_grant = state_->votes.may_vote(about, now);
    const bool granted = may_grant && touch(state_->promises) && state_->votes.vote(about, now);
    if (granted && is_new) log::warning("vote", {{"about", about}, {"for", from}});
    return granted;
}

}  // namespace cmcp
