#include "cell/standby_programs.hpp"

#include "jail/closing.hpp"
#include "jail/limits.hpp"
#include "jail/payload.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "jail/terminal.hpp"
#include "wire/wire.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet_after_start{10};
constexpr std::chrono::seconds longest_standby{60};

start_message read_start(const packet& order)
{
    return decode_start(read_memory(order.descriptors[0].get(), "read the start"));
}

run_outputs outputs_of(const packet& order)
{
    if (order.descriptors.size() < 4) return {};
    return run_outputs::of(order.descriptors[2].get(), order.descriptors[3].get());
}

}  // namespace

cell_program standby_programs::begin(packet& order)
{
    refill_at_ = clock::now() + quiet_after_start;
    rest_at_ = clock::now() + longest_standby;
    if (auto begun = begin_held(order)) return std::move(*begun);
    cell_program begun = begin_any(order);
    if (order.bytes == begin_loaded) expect_another(order);
    return begun;
}

// After a shell another is held, for the next start of its kind.
std::optional<cell_program> standby_programs::begin_held(packet& order)
{
    if (order.bytes != begin_executed || !may_hold_) return std::nullopt;
    start_message start = read_start(order);
    start.request.workspace_inside = plan_.request.workspace_inside;
    if (auto kind = held_kind_of(start.request)) next_shell_ = std::move(kind);
    if (!shell_ || !shell_->waits_for(start) || !shell_->begin(start, order)) return std::nullopt;
    const run_outputs outputs = outputs_of(order);
    cell_program begun{shell_->process(), std::move(order.descriptors[1]), outputs, shell_->take_link()};
    forget_shell();
    return begun;
}

// A child that an inmate has killed is replaced once.
cell_program standby_programs::begin_any(packet& order)
{
    if (any_ == 0 || !hand_over(order)) {
        make_any();
        if (!hand_over(order)) throw step_failed("hand over the start", EPIPE);
    }
    const run_outputs outputs = outputs_of(order);
    cell_program begun{any_, std::move(order.descriptors[1]), outputs};
    forget_any();
    return begun;
}

bool standby_programs::hand_over(const packet& order) const
try {
    std::vector<int> numbers;
    for (const unique_fd& each : order.descriptors) numbers.push_back(each.get());
    ::kill(any_, SIGCONT);  // an inmate may have stopped it
    return send_packet(orders_.get(), order.bytes, numbers);
} catch (const std::system_error&) {
    return false;
}

void standby_programs::expect_another(const packet& order)
{
    start_message start = read_start(order);
    plan_.request.argv = std::move(start.request.argv);
    plan_.request.environment = std::move(start.request.environment);
}

void standby_programs::forget_any()
{
    any_ = 0;
    orders_.reset();
    tell();
}

void standby_programs::forget_shell()
{
    shell_.reset();
    tell();
}

void standby_programs::tell() const
{
    const pid_t shell = shell_ ? shell_->process() : 0;
    send_packet(plan_.control.get(), encoded(child_says::standby, any_, shell));
}

void standby_programs::hear()
{
    if (shell_) shell_->hear();
}

// Where a shell cannot be held, none is held again.
void standby_programs::lose(pid_t process)
{
    if (any_ == process) {
        if (rest_at_ != clock::time_point::max()) refill_at_ = clock::now() + quiet_after_start;
        return forget_any();
    }
    if (!shell_ || shell_->process() != process) return;
    shell_->hear();
    may_hold_ = shell_->waits();
    forget_shell();
}

void standby_programs::look()
{
    const auto now = clock::now();
    if (now >= refill_at_) refill();
    if (now >= rest_at_) rest();
}

// Their memory is worth more than the milliseconds that the next start takes longer.
void standby_programs::rest()
{
    refill_at_ = rest_at_ = clock::time_point::max();
    if (any_ != 0) ::kill(any_, SIGKILL);
    if (shell_) ::kill(shell_->process(), SIGKILL);
}

// While none can be made, a start tries again and tells why.
void standby_programs::refill()
try {
    refill_at_ = clock::time_point::max();
    if (any_ == 0) make_any();
    if (shell_ || !next_shell_ || !may_hold_) return;
    shell_.emplace(plan_, *next_shell_);
    tell();
} catch (const std::exception&) {
}

void standby_programs::make_any()
{
    auto [ours, theirs] = packet_socket_pair();
    const pid_t child = check(fork(), "start a process");
    if (child == 0) stand_by(std::move(theirs));
    any_ = child;
    orders_ = std::move(ours);
    tell();
}

pid_t standby_programs::fork() const
{
    if (loaded_ == nullptr) return ::fork();
    loaded_->before_fork();
    const pid_t child = ::fork();
    const int error = errno;
    if (child != 0) loaded_->parent_after_fork();
    errno = error;
    return child;
}

// Other programs' sockets would stay open with a copy of theirs, and their ends would not be heard. A step that fails
// is told once there is a run to tell it to.
void standby_programs::stand_by(unique_fd orders)
{
    std::optional<step_failed> failed;
    unique_fd listener;
    try {
        close_all_but({0, 1, 2, 3, 4, orders.get()});
        static_cast<void>(plan_.control.release());
        check(::setsid(), "new session");
        if (loaded_ != nullptr) loaded_->prepare(plan_.request);
        listener = install_filters(plan_);
    } catch (const std::exception& failure) {
        failed.emplace(failure.what(), error_of(failure));
    }
    packet order = await_packet_or_end(orders.get());
    orders.reset();
    plan_.control = std::move(order.descriptors[1]);
    try {
        if (failed) throw step_failed(*failed);
        tell_listener(plan_.control.get(), listener);
        listener.reset();
        become_program(std::move(order));
    } catch (const std::exception& failure) {
        report_failure(plan_.control.get(), failure);
    }
}

void standby_programs::become_program(packet order)
{
    const unique_fd memory = std::move(order.descriptors[0]);
    order.descriptors.erase(order.descriptors.begin(), order.descriptors.begin() + 2);
    const auto [argv, environment] = std::pair(plan_.request.argv, plan_.request.environment);
    take_start(plan_, read_memory(memory.get(), "read the start"), order.descriptors);
    take_terminal(plan_);
    const bool becomes_loaded = loaded_ != nullptr && order.bytes == begin_loaded;
    limit_process_memory(plan_.request.limits, becomes_loaded ? loaded_->own_data : 0);
    if (becomes_loaded) loaded_->become(plan_.request.argv == argv && plan_.request.environment == environment);
    execute_payload(plan_);
}

}  // namespace cmcp::sandbox
