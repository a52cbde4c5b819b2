#include "cell/cell_orders.hpp"
#include "facilities/setup_step.hpp"
#include "launcher/live_cell.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

// The programs that stand by in a cell; live_cell.cpp has the rest.
namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet_after_start{10};
constexpr std::chrono::milliseconds longest_without_standby{100};
constexpr std::chrono::seconds longest_standby{60};

}  // namespace

void live_cell::prepare()
{
    if (lasts() || !expected_ || !waiting.empty()) return;
    const bool holds = !interprets_ && library_ >= 0 && held_kind_of(expected_->request);
    programs_.push_back(order({.held = holds, .expected = *expected_}));
}

program live_cell::take_program(const start_message& start, bool loaded)
{
    hear_programs();
    const auto suits = [&](bool held) {
        return std::find_if(programs_.begin(), programs_.end(),
                            [&](program& each) { return each.is_held() == held && each.suits(start, loaded); });
    };
    auto entry = suits(true);
    if (entry == programs_.end()) entry = suits(false);
    if (entry == programs_.end()) return order({.waits = false, .interprets = loaded, .expected = start});
    program chosen_program = std::move(*entry);
    programs_.erase(entry);
    tell_standby();
    return chosen_program;
}

// A shell that could not be held runs already: it ends, and none is held again.
void live_cell::hear_programs()
{
    std::vector<std::uint32_t> early;
    for (program& each : programs_) {
        each.hear();
        if (each.runs_too_early()) early.push_back(each.number());
    }
    if (early.empty()) return;
    may_hold_ = false;
    if (!lasts()) return end();
    for (const std::uint32_t number : early) cell_->kill_program(number);
}

bool live_cell::is_ready()
{
    hear_programs();
    return std::any_of(programs_.begin(), programs_.end(), [](const program& each) { return each.waits(); });
}

void live_cell::use(const start_message& start, bool loaded)
{
    used_ = std::chrono::steady_clock::now();
    if (!lasts()) return;
    if (loaded) expected_ = start;
    if (held_kind_of(start.request)) expected_shell_ = start;
    stand_by_at_ = used_ + quiet_after_start;
    rest_at_ = used_ + longest_standby;
}

program live_cell::order(program_order wanted)
{
    wanted.number = ++last_number_;
    auto [ours, theirs] = packet_socket_pair();
    const int descriptors[] = {theirs.get(), library_};
    const std::string message = encode_program_order(wanted);
    if (!send_packet(cell_->control(), message, {descriptors, wanted.held ? std::size_t{2} : 1}))
        throw step_failed("start a process", EAGAIN);
    return {wanted.number, std::move(ours), wanted.held ? held_kind_of(wanted.expected.request) : std::nullopt,
            wanted.waits};
}

void live_cell::hear_program(wire_reader& message)
{
    const auto number = message.next<std::uint32_t>();
    const int process = message.next<int>();
    const auto is_it = [number](const program& each) { return each.number() == number; };
    if (process != 0) {
        const auto entry = std::find_if(programs_.begin(), programs_.end(), is_it);
        if (entry == programs_.end()) return;
        entry->set_process(process);
        return tell_standby();
    }
    if (std::erase_if(programs_, is_it) != 0) {  // the next start meets the same obstacle
        if (!lasts()) end();
        return;
    }
    const int error = message.next<int>();
    missing_.push_back({number, explain_setup_failure(message.next<std::string>(), error)});
}

void live_cell::hear_end(const program_end& end)
{
    const auto entry = std::find_if(programs_.begin(), programs_.end(),
                                    [&](const program& each) { return each.number() == end.number; });
    if (entry == programs_.end())
        ends_of_runs_.push_back(end);
    else
        lose_program(*entry);
    std::erase_if(programs_, [&](const program& each) { return each.number() == end.number; });
    tell_standby();
}

// Where a shell cannot be held, none is held again.
void live_cell::lose_program(program& lost)
{
    lost.hear();
    if (lost.is_held() && !lost.waits()) may_hold_ = false;
    if (failure_.empty() && !lasts()) failure_ = lost.failure();
    if (!lasts())
        end();
    else if (rest_at_ != steady_time::max())
        stand_by_at_ = std::chrono::steady_clock::now() + quiet_after_start;
}

bool live_cell::has(bool held) const
{
    return std::any_of(programs_.begin(), programs_.end(),
                       [held](const program& each) { return each.is_held() == held; });
}

// A shell of another kind than the latest one would stand by for nobody.
void live_cell::end_other_shells()
{
    const auto is_other = [this](const program& each) {
        return each.is_held() && expected_shell_ && each.kind() != held_kind_of(expected_shell_->request);
    };
    for (const program& each : programs_)
        if (is_other(each)) cell_->kill_program(each.number());
    if (std::erase_if(programs_, is_other) != 0) tell_standby();
}

// While starts come one after the other in other cells, the next one here would gain less than they lose.
void live_cell::stand_by_in_quiet(steady_time now, steady_time latest_start)
{
    const auto due = std::min(latest_start + quiet_after_start, used_ + longest_without_standby);
    if (now < due)
        stand_by_at_ = due;
    else
        stand_by();
}

// While none can be made, a start tries again and tells why.
void live_cell::stand_by()
{
    stand_by_at_ = steady_time::max();
    end_other_shells();
    if (!has(false)) programs_.push_back(order({.expected = expected_.value_or(start_message())}));
    if (expected_shell_ && may_hold_ && library_ >= 0 && !has(true))
        programs_.push_back(order({.held = true, .expected = *expected_shell_}));
}

// Their memory is worth more than the milliseconds that the next start takes longer.
void live_cell::rest()
{
    stand_by_at_ = rest_at_ = steady_time::max();
    for (const program& each : programs_) cell_->kill_program(each.number());
    programs_.clear();
    tell_standby();
}

void live_cell::tell_standby()
{
    standby_processes now{};
    for (std::size_t i = 0; i < now.size() && i < programs_.size(); ++i) now[i] = programs_[i].process();
    cell_->hear_standby(now);
}

steady_time live_cell::next_event() const { return std::min({cell_->next_event(), stand_by_at_, rest_at_}); }

void live_cell::tick(steady_time now, steady_time latest_start)
{
    if (now >= cell_->next_event()) cell_->tick(now);
    if (now >= stand_by_at_ && !ends()) stand_by_in_quiet(now, latest_start);
    if (now >= rest_at_) rest();
}

}  // namespace cmcp::sandbox
