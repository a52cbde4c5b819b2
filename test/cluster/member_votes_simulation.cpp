#include "cluster/member_votes.hpp"
#include "test/support/catch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

using time_point = member_votes::time;
using std::chrono::milliseconds;

constexpr std::size_t number = 5;
constexpr auto step = 50ms;
const std::array<std::string, number> names{"a", "b", "c", "d", "e"};

struct message {
    enum class kind { beat, acknowledgement, question, grant } is;
    std::size_t from, to, about;
    time_point when;  // by the clock of the member that has begun the exchange
    int life;         // of the same; answers do not reach a later one
};

struct member {
    member_votes votes;
    milliseconds clock;  // ahead of the others'
    int life = 0;
    time_point paused_until{}, next_beat{}, promised_until{};
    std::vector<message> unread{};
};

/// Five members between which messages are lost, late and out of order; links fail and come back, and members pause or
/// begin anew.
class simulation {
public:
    simulation(unsigned seed, watch_times times) : chance_(seed), times_(times)
    {
        for (std::size_t i = 0; i != number; ++i) {
            const milliseconds ahead(below(100'000));
            members_.push_back({votes_of(i, now_ + ahead, false), ahead});
        }
    }

    void run(milliseconds for_so_long)
    {
        for (const auto end = now_ + for_so_long; now_ < end; now_ += step) {
            disturb();
            deliver();
            for (std::size_t i = 0; i != number; ++i)
                if (!is_paused(i)) act(i);
            judge();
        }
    }

    int verdicts() const { return verdicts_; }      ///< steps times members that had one
    int in_touch() const { return in_touch_; }      ///< the same of members in touch
    int violations() const { return violations_; }  ///< verdicts about members that were in touch

private:
    member_votes votes_of(std::size_t i, time_point started, bool has_promised) const
    {
        std::vector<std::string> others;
        for (const auto& name : names)
            if (name != names[i]) others.push_back(name);
        return member_votes(others, true, started, has_promised, times_);
    }

    int below(int most) { return std::uniform_int_distribution<int>(0, most - 1)(chance_); }
    bool happens(int in_a_thousand) { return below(1000) < in_a_thousand; }
    std::size_t any() { return static_cast<std::size_t>(below(number)); }
    time_point clock_of(std::size_t i) const { return now_ + members_[i].clock; }
    bool is_paused(std::size_t i) const { return now_ < members_[i].paused_until; }

    void disturb()
    {
        if (happens(12)) members_[any()].paused_until = now_ + milliseconds(below(9000));
        if (happens(3)) restart(any());
        if (happens(15)) part();
        if (happens(15)) blocked_ = {};
        if (happens(20)) slow_ = happens(300);
    }

    // The next life remembers when something was promised last, but not what.
    void restart(std::size_t i)
    {
        auto& own = members_[i];
        const auto promised = [&](const std::string& name) { return own.votes.is_suspended(name, clock_of(i)); };
        if (std::ranges::any_of(names, promised)) own.promised_until = now_ + times_.promise;
        own.votes = votes_of(i, clock_of(i), now_ < own.promised_until);
        ++own.life;
    }

    // A side of any members, or a single link.
    void part()
    {
        const auto side = static_cast<unsigned>(below(1 << number));
        const bool single = happens(500);
        const auto one = any(), other = any();
        for (std::size_t i = 0; i != number; ++i)
            for (std::size_t j = 0; j != number; ++j) {
                const bool apart = ((side >> i) & 1u) != ((side >> j) & 1u);
                if (single ? (i == one && j == other) || (i == other && j == one) : apart) blocked_[i][j] = true;
            }
    }

    void send(const message& sent)
    {
        if (blocked_[sent.from][sent.to] || happens(30)) return;
        const milliseconds delay(happens(slow_ ? 300 : 20) ? below(12'000) : below(150));
        under_way_.emplace(now_ + delay, sent);
    }

    void deliver()
    {
        const auto end = under_way_.upper_bound(now_);
        for (auto at = under_way_.begin(); at != end; ++at) members_[at->second.to].unread.push_back(at->second);
        under_way_.erase(under_way_.begin(), end);
    }

    void act(std::size_t i)
    {
        for (const auto& each : std::exchange(members_[i].unread, {})) take(i, each);
        const auto own = clock_of(i);
        if (own >= members_[i].next_beat) {
            members_[i].next_beat = own + 500ms;
            send_to_all(i, message::kind::beat, i);
        }
        const auto about = any();
        if (about != i && happens(60) && members_[i].votes.ask(names[about], own))
            send_to_all(i, message::kind::question, about);
    }

    void send_to_all(std::size_t i, message::kind is, std::size_t about)
    {
        for (std::size_t j = 0; j != number; ++j)
            if (j != i && (is == message::kind::beat || j != about))
                send({is, i, j, about, clock_of(i), members_[i].life});
    }

    void take(std::size_t i, const message& of)
    {
        auto& votes = members_[i].votes;
        const auto own = clock_of(i);
        const bool is_late = of.life != members_[i].life;
        const auto answer = [&](message::kind is) { send({is, i, of.from, of.about, of.when, of.life}); };
        switch (of.is) {
            case message::kind::beat:
                if (votes.take_beat(names[of.from], own)) answer(message::kind::acknowledgement);
                break;
            case message::kind::acknowledgement:
                if (!is_late) votes.note_acknowledged(names[of.from], of.when, own);
                break;
            case message::kind::question:
                if (votes.vote(names[of.about], own)) answer(message::kind::grant);
                break;
            case message::kind::grant:
                if (!is_late) votes.note_granted(names[of.about], names[of.from], of.when);
                break;
        }
    }

    void judge()
    {
        std::array<bool, number> touch{};
        for (std::size_t i = 0; i != number; ++i) {
            touch[i] = members_[i].votes.is_in_touch(clock_of(i));
            in_touch_ += touch[i] ? 1 : 0;
        }
        for (std::size_t i = 0; i != number; ++i)
            for (std::size_t j = 0; touch[i] && j != number; ++j) {
                if (i == j || !members_[i].votes.has_verdict(names[j], clock_of(i))) continue;
                ++verdicts_;
                violations_ += touch[j] ? 1 : 0;
            }
    }

    std::mt19937 chance_;
    watch_times times_;
    time_point now_{1000s};
    std::vector<member> members_;
    std::multimap<time_point, message> under_way_;
    std::array<std::array<bool, number>, number> blocked_{};
    bool slow_ = false;
    int verdicts_ = 0, in_touch_ = 0, violations_ = 0;
};

struct totals {
    int verdicts = 0, in_touch = 0, violations = 0;
};

totals simulate(unsigned seeds, watch_times times)
{
    totals all;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        simulation of(seed, times);
        of.run(180s);
        all.verdicts += of.verdicts();
        all.in_touch += of.in_touch();
        all.violations += of.violations();
        INFO("seed " << seed);
        if (times.promise == watch_times().promise && times.touch == watch_times().touch) CHECK(of.violations() == 0);
    }
    return all;
}

}  // namespace

TEST_CASE("a member about which others have a good verdict is cut off by its own judgement, whatever fails")
{
    constexpr unsigned seeds = 60;
    const auto all = simulate(seeds, {});
    CHECK(all.violations == 0);
    CHECK(all.verdicts > 1000);
    CHECK(all.in_touch > 10'000);
}

TEST_CASE("the simulation sees that promises are too short, and touch too long")
{
    constexpr unsigned seeds = 8;
    watch_times forgetful;
    forgetful.promise = 1s;
    CHECK(simulate(seeds, forgetful).violations > 0);
    watch_times trusting;
    trusting.touch = 8s;
    CHECK(simulate(seeds, trusting).violations > 0);
}
