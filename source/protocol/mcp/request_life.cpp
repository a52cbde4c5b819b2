#include "mcp/request_life.hpp"

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

using life = request_life;

struct life_step {
    life::state from;
    life::input what;
    life::state to;
    life::action action;
};

// A pair that is missing changes nothing: the event comes late, as the cancellation of a request that has ended.
constexpr std::array<life_step, 12> life_steps{{
    {life::state::received, life::input::admit, life::state::admitted, life::action::none},
    {life::state::received, life::input::settle, life::state::answering, life::action::answer},
    {life::state::received, life::input::cancel, life::state::cancelled, life::action::none},
    {life::state::admitted, life::input::begin, life::state::running, life::action::run},
    {life::state::admitted, life::input::settle, life::state::answering, life::action::answer},
    {life::state::admitted, life::input::cancel, life::state::cancelled, life::action::none},
    {life::state::running, life::input::finish, life::state::answering, life::action::answer},
    {life::state::running, life::input::cancel, life::state::cancelled, life::action::stop},
    // The client has gone: the answer need not wait for room in its stream.
    {life::state::answering, life::input::cancel, life::state::cancelled, life::action::stop},
    {life::state::answering, life::input::sent, life::state::ended, life::action::drop},
    {life::state::cancelled, life::input::begin, life::state::cancelled, life::action::drop},
    {life::state::cancelled, life::input::finish, life::state::cancelled, life::action::drop},
}};

}  // namespace

request_life::action request_life::on(input what)
{
    const auto* const step = std::find_if(life_steps.begin(), life_steps.end(), [&](const life_step& each) {
        return each.from == state_ && each.what == what;
    });
    if (step == life_steps.end()) return action::none;
    state_ = step->to;
    return step->action;
}

}  // namespace cmcp
