#include "mcp/request_life.hpp"
#include "test/support/catch.hpp"

#include <array>
#include <utility>
#include <vector>

using namespace cmcp;

namespace {

using state = request_life::state;
using input = request_life::input;
using action = request_life::action;

constexpr std::array inputs{input::admit, input::settle, input::begin, input::finish, input::cancel, input::sent};

// The inputs that lead to each state.
const std::vector<std::pair<state, std::vector<input>>> ways{
    {state::received, {}},
    {state::admitted, {input::admit}},
    {state::running, {input::admit, input::begin}},
    {state::answering, {input::admit, input::begin, input::finish}},
    {state::ended, {input::admit, input::begin, input::finish, input::sent}},
    {state::cancelled, {input::admit, input::begin, input::cancel}},
};

struct cell {
    state to;
    action then;

    bool operator==(const cell&) const = default;
};

using row = std::array<cell, inputs.size()>;

// States in the order of `ways`, inputs in the order of `inputs`.
constexpr std::array<row, 6> expected{{
    {{{state::admitted, action::none},
      {state::answering, action::answer},
      {state::received, action::none},
      {state::received, action::none},
      {state::cancelled, action::none},
      {state::received, action::none}}},
    {{{state::admitted, action::none},
      {state::answering, action::answer},
      {state::running, action::run},
      {state::admitted, action::none},
      {state::cancelled, action::none},
      {state::admitted, action::none}}},
    {{{state::running, action::none},
      {state::running, action::none},
      {state::running, action::none},
      {state::answering, action::answer},
      {state::cancelled, action::stop},
      {state::running, action::none}}},
    {{{state::answering, action::none},
      {state::answering, action::none},
      {state::answering, action::none},
      {state::answering, action::none},
      {state::cancelled, action::stop},
      {state::ended, action::drop}}},
    {{{state::ended, action::none},
      {state::ended, action::none},
      {state::ended, action::none},
      {state::ended, action::none},
      {state::ended, action::none},
      {state::ended, action::none}}},
    {{{state::cancelled, action::none},
      {state::cancelled, action::none},
      {state::cancelled, action::drop},
      {state::cancelled, action::drop},
      {state::cancelled, action::none},
      {state::cancelled, action::none}}},
}};

request_life life_in(const std::vector<input>& way)
{
    request_life life;
    for (const auto each : way) life.on(each);
    return life;
}

}  // namespace

TEST_CASE("a request answers each input in each state of its life")
{
    for (std::size_t from = 0; from < ways.size(); ++from)
        for (std::size_t what = 0; what < inputs.size(); ++what) {
            auto life = life_in(ways[from].second);
            REQUIRE(life.now() == ways[from].first);
            const auto then = life.on(inputs[what]);
            INFO("state " << from << ", input " << what);
            CHECK(cell{life.now(), then} == expected[from][what]);
        }
}

TEST_CASE("a request is stopped once and answered at most once")
{
    auto life = life_in({input::admit, input::begin});
    CHECK(life.on(input::cancel) == action::stop);
    CHECK(life.on(input::cancel) == action::none);
    CHECK(life.on(input::finish) == action::drop);
    auto answered = life_in({input::settle});
    CHECK(answered.on(input::settle) == action::none);
    CHECK(answered.on(input::sent) == action::drop);
}
