#include "launcher/run.hpp"

#include "facilities/setup_step.hpp"
#include "limits/limits.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::sandbox {

namespace {

constexpr std::chrono::milliseconds between_answers{50};
constexpr std::chrono::seconds patience_with_session{5};  // with a session that is to end

}  // namespace

run::run(std::shared_ptr<cell> in, program begun, const start_message& start, bool loaded)
    : cell_(std::move(in)),
      program_(std::move(begun)),
      loaded_(loaded),
      id_(start.id),
      processes_(start.request.limits.processes),
      file_size_problem_(cell_->explain_file_size(start.request.limits)),
      doors_(start.request.doors),
      refusals_(program_.take_listener(), doors_, cell_->makes_sockets()),
      deadline_(begun_ + start.request.limits.wall),
      next_tick_(begun_ + between_answers),
      refused_forks_(cell_->refused_forks())
{
    evidence_.cpu_limit = cpu_seconds(start.request.limits);
    cell_->begin(start.request.limits);
}

void left_program::hear_call()
{
    calls_.answer(false);
    if (const auto call = calls_.take_call()) cell_->carry_out(0, *call);
    if (calls_.readable() < 0) next_tick_ = std::chrono::steady_clock::now() + between_answers;
}

void left_program::tick()
{
    next_tick_ = steady_time::max();
    calls_.tick();
}

void run::take_listener()
{
    if (unique_fd listener = program_.take_listener())
        refusals_ = refusal_listener(std::move(listener), doors_, cell_->makes_sockets());
}

void run::hear()
{
    program_.hear();
    take_listener();
}

void run::hear_refusal()
{
    if (refusals_.answer()) kill(cause::denied_syscall);
    if (const auto call = refusals_.take_call()) cell_->carry_out(program_.number(), *call);
}

// A program that cannot run says why before it ends.
void run::hear_end(const program_end& end)
{
    hear();
    failure_ = program_.failure();
    evidence_.status = end.status;
    evidence_.cpu = end.cpu;
    evidence_.out_of_processes |= end.out_of_processes;
    peak_memory_ = end.peak_memory;
    left_ = end.left;
}

void run::fail(const std::string& why)
{
    program_.hear();
    failure_ = program_.failure().empty() ? why : program_.failure();
}

void run::kill(cause why)
{
    if (!cell_->lasts()) return cell_->kill(why);
    if (killed_for_) return;
    killed_for_ = why;
    deadline_ = std::chrono::steady_clock::now() + patience_with_session;
    cell_->kill_program(program_.number());
}

void run::tick(steady_time now)
{
    next_tick_ = now + between_answers;
    refusals_.tick();
    if (now < deadline_) return;
    if (!killed_for_ && !cell_->killed_for()) return kill(cause::timeout);
    deadline_ = steady_time::max();
    if (!cell_->lasts()) return;
    cell_->give_up("the sandbox's processes were ended, because a run among them could not be ended alone.");
}

ended_message run::report()
{
    ended_message ended{id_, {}};
    auto& result = ended.result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
    result.prepared = loaded_ && !program_.executes();
    result.waited = program_.stood_by();
    if (cell_->lasts()) result.cell = cell_->number();
    result.left = left_;
    judge_into(result);
    cell_->note_run();
    return ended;
}

std::optional<left_program> run::take_left()
{
    if (!cell_->lasts() || !refusals_.has_callers()) return std::nullopt;
    return left_program(cell_, std::move(refusals_));
}

void run::judge_into(run_result& result)
{
    const cell::figures_at_end figures = cell_->current_figures();
    if (!cell_->lasts()) {
        evidence_.cpu = std::max(evidence_.cpu, figures.cpu);
        peak_memory_ = std::max(peak_memory_, figures.peak_memory);
    }
    result.cpu = evidence_.cpu;
    result.peak_memory = peak_memory_;
    result.error = failure_;
    evidence_.out_of_processes |= cell_->refused_forks() > refused_forks_;
    if (cell_->lasts() && evidence_.out_of_processes)
        result.live_at_limit = std::max<std::uint64_t>(1, cell_->processes());
    if (!failure_.empty()) return;
    evidence_.killed_for = killed_for_ ? killed_for_ : cell_->killed_for();
    evidence_.out_of_memory = figures.out_of_memory;
    judge(evidence_, result);
    result.denied = refusals_.take();
    result.detail = cell_->detail();
    if (result.detail.empty() && result.why == cause::file_size_limit) result.detail = file_size_problem_;
    if (!figures.refused.empty()) result.denied.push_back(figures.refused);
    if (evidence_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(processes_) + " processes was reached");
}

}  // namespace cmcp::sandbox
