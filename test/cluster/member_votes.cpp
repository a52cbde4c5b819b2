#include "cluster/member_votes.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> two_others{"a", "c"};
const std::vector<std::string> four_others{"a", "c", "d", "e"};

member_votes::time at(std::chrono::milliseconds after) { return member_votes::time(1000s) + after; }

member_votes member_of(const std::vector<std::string>& others) { return member_votes(others, true, at(0s), true); }

}  // namespace

TEST_CASE("a member is in touch while most members have acknowledged what it has sent a moment ago")
{
    struct row {
        std::vector<std::string> others;
        std::vector<std::pair<std::string, std::chrono::milliseconds>> acknowledged;  // and when it was sent
        std::chrono::milliseconds now;
        bool in_touch;
    };
    const std::vector<row> table{
        {two_others, {}, 0s, false},
        {two_others, {{"a", 1s}}, 2999ms, true},
        {two_others, {{"a", 1s}}, 3s, false},
        {two_others, {{"a", 1s}, {"c", 2s}}, 3999ms, true},
        {two_others, {{"a", 2s}, {"a", 1s}}, 3500ms, true},
        {two_others, {{"stranger", 3s}}, 3s, false},
        {four_others, {{"a", 3s}}, 3s, false},
        {four_others, {{"a", 3s}, {"a", 3100ms}}, 3200ms, false},
        {four_others, {{"a", 3s}, {"c", 1500ms}}, 3400ms, true},
        {four_others, {{"a", 3s}, {"c", 1500ms}}, 3500ms, false},
        {four_others, {{"a", 3s}, {"c", 1500ms}, {"e", 2s}}, 3500ms, true},
        {{"a", "c", "d"}, {{"a", 3s}}, 3s, false},
        {{"a", "c", "d"}, {{"a", 3s}, {"d", 3s}}, 3s, true},
    };
    for (std::size_t i = 0; i != table.size(); ++i) {
        INFO("row " << i);
        auto votes = member_of(table[i].others);
        for (const auto& [by, sent] : table[i].acknowledged) votes.note_acknowledged(by, at(sent), at(sent));
        CHECK(votes.is_in_touch(at(table[i].now)) == table[i].in_touch);
    }
}

TEST_CASE("each time that a member comes in touch is another one")
{
    auto votes = member_of(two_others);
    CHECK(votes.epoch() == 0);
    votes.note_acknowledged("a", at(1s), at(4s));  // too late to count
    CHECK(votes.epoch() == 0);
    votes.note_acknowledged("a", at(4s), at(4s));
    votes.note_acknowledged("c", at(5s), at(5s));
    votes.note_acknowledged("a", at(6s), at(6s));
    CHECK(votes.epoch() == 1);
    CHECK(votes.count_in_touch(at(6s)) == 2);
    CHECK(votes.count_in_touch(at(7s)) == 1);
    votes.note_acknowledged("c", at(9500ms), at(9500ms));
    CHECK(votes.epoch() == 2);
}

TEST_CASE("a member that has just begun acknowledges nothing, because its earlier life may have promised so")
{
    auto votes = member_of(two_others);
    CHECK_FALSE(votes.take_beat("a", at(0s)));
    CHECK_FALSE(votes.take_beat("a", at(9999ms)));
    CHECK(votes.take_beat("a", at(10s)));
    CHECK_FALSE(votes.take_beat("stranger", at(10s)));
}

TEST_CASE("a member agrees that another one is gone after three seconds without its beats")
{
    struct row {
        std::vector<std::chrono::milliseconds> beats;  // of "a"
        std::string about;
        std::chrono::milliseconds now;
        bool granted;
    };
    const std::vector<row> table{
        {{}, "a", 2999ms, false},      {{}, "a", 3s, true},          {{1s}, "a", 3999ms, false},
        {{1s}, "a", 4s, true},         {{20s}, "a", 22999ms, false}, {{20s}, "a", 23s, true},
        {{20s, 22s}, "a", 24s, false}, {{20s}, "c", 21s, true},      {{}, "stranger", 60s, false},
    };
    for (std::size_t i = 0; i != table.size(); ++i) {
        INFO("row " << i);
        auto votes = member_of(two_others);
        for (const auto beat : table[i].beats) votes.take_beat("a", at(beat));
        CHECK(votes.may_vote(table[i].about, at(table[i].now)) == table[i].granted);
        CHECK_FALSE(votes.is_suspended(table[i].about, at(table[i].now)));
        CHECK(votes.vote(table[i].about, at(table[i].now)) == table[i].granted);
    }
}

TEST_CASE("a member that others take for gone is not acknowledged for ten seconds, others are")
{
    auto votes = member_of(two_others);
    REQUIRE(votes.vote("a", at(20s)));
    CHECK_FALSE(votes.take_beat("a", at(21s)));
    CHECK(votes.take_beat("c", at(21s)));
    REQUIRE(votes.vote("a", at(22s)));  // for another one that asks
    CHECK_FALSE(votes.take_beat("a", at(31999ms)));
    CHECK(votes.take_beat("a", at(32s)));
    CHECK_FALSE(votes.vote("a", at(33s)));
}

TEST_CASE("a member that began anew acknowledges at once where its earlier life has promised nothing")
{
    member_votes fresh(two_others, true, at(0s), false);
    CHECK(fresh.take_beat("a", at(0s)));
    auto bound = member_of(two_others);
    CHECK_FALSE(bound.take_beat("a", at(9999ms)));
    CHECK(bound.take_beat("a", at(10s)));
}

TEST_CASE("a verdict needs the votes of most members, the own one, and that this member is in touch")
{
    auto votes = member_of(four_others);
    const auto hear = [&](std::chrono::milliseconds when) {
        votes.note_acknowledged("c", at(when), at(when));
        votes.note_acknowledged("d", at(when), at(when));
    };
    CHECK_FALSE(votes.ask("a", at(20s)));  // cut off itself
    CHECK(votes.take_beat("a", at(20s)));  // and has promised nothing
    hear(22s);
    CHECK_FALSE(votes.ask("a", at(22s)));
    hear(24s);
    REQUIRE(votes.ask("a", at(24s)));
    votes.note_granted("a", "c", at(24s));
    CHECK_FALSE(votes.has_verdict("a", at(24s)));
    votes.note_granted("a", "c", at(24s));
    votes.note_granted("a", "a", at(24s));
    votes.note_granted("c", "d", at(24s));
    CHECK_FALSE(votes.has_verdict("a", at(24s)));
    votes.note_granted("a", "d", at(24s));
    CHECK(votes.has_verdict("a", at(24s)));
    CHECK_FALSE(votes.has_verdict("a", at(26s)));  // cut off
    hear(27s);
    CHECK(votes.has_verdict("a", at(28s)));
    hear(29s);
    CHECK(votes.has_verdict("a", at(29999ms)));
    CHECK_FALSE(votes.has_verdict("a", at(30s)));  // over
    CHECK_FALSE(votes.take_beat("a", at(33999ms)));
    CHECK(votes.take_beat("a", at(34s)));
}

TEST_CASE("a verdict is as old as the oldest of the votes that it needs")
{
    auto votes = member_of(two_others);
    for (const auto when : {20s, 22s, 24s, 26s}) votes.note_acknowledged("c", at(when), at(when));
    REQUIRE(votes.ask("a", at(20s)));
    REQUIRE(votes.ask("a", at(25s)));
    votes.note_granted("a", "c", at(20s));  // a late answer to the first question
    CHECK(votes.has_verdict("a", at(25999ms)));
    CHECK_FALSE(votes.has_verdict("a", at(26s)));
    votes.note_granted("a", "c", at(25s));
    CHECK(votes.has_verdict("a", at(26s)));
}

TEST_CASE("nobody is cut off or gone among fewer than three members, or where it is switched off")
{
    const std::vector<member_votes> all{member_votes({"a"}, true, at(0s), true), member_votes({}, true, at(0s), true),
                                        member_votes(four_others, false, at(0s), true)};
    for (auto votes : all) {
        CHECK_FALSE(votes.is_active());
        CHECK(votes.is_in_touch(at(60s)));
        CHECK_FALSE(votes.vote("a", at(60s)));
        CHECK_FALSE(votes.ask("a", at(60s)));
        CHECK_FALSE(votes.has_verdict("a", at(60s)));
    }
    auto off = all.back();
    CHECK(off.take_beat("a", at(0s)));
}
