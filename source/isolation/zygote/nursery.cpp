#include "zygote/nursery.hpp"

#include "cell/cell_server.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
#include "jail/payload.hpp"
#include "wire/wire.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <span>
#include <utility>

namespace cmcp::sandbox {
namespace {

// RLIMIT_DATA counts the sixth field of statm (proc(5)).
std::uint64_t data_bytes()
{
    std::ifstream file("/proc/self/statm");
    std::uint64_t pages = 0;
    for (int field = 0; field < 6; ++field) file >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

template <bool shares_cell>
void end_in_advance(int status)
{
    if (status == 0) tell_end_in_advance(shares_cell);
}

// A program of a cell that stands by.
void expect_run(interpreter& python, const run_request& expected)
{
    python.after_fork();
    if (python_start::read(expected.argv)) python.take(expected);
}

// The interpreter that is already there, or a start of its own where that one has loaded too much.
[[noreturn]] void become_run(interpreter& python, jail_plan& plan, bool as_expected)
{
    if (!as_expected) python.take(plan.request);
    install_descriptors(plan);
    if (plan.probe) answer_probe(plan);
    if (python.meets_other_packages()) {
        send_packet(plan.control.get(), encoded(child_says::executes));
        execute_program(plan);
    }
    ::prctl(PR_SET_DUMPABLE, 1);  // as exec would: the run's own files in /proc are its own
    ::close(plan.control.get());
    python.run(plan.lasts ? end_in_advance<true> : end_in_advance<false>);
}

}  // namespace

nursery::nursery(interpreter& python, working_set needed, call_filters filters, int launcher, bool with_time_namespace)
    : python_(python),
      needed_(std::move(needed)),
      launcher_(launcher),
      filters_(std::move(filters)),
      with_time_namespace_(with_time_namespace),
      own_data_(data_bytes())
{
}

void nursery::serve()
{
    for (;;) {
        packet order = await_packet(launcher_);
        if (order.bytes.empty()) return;
        if (order.bytes == clone_order && !order.descriptors.empty()) clone(std::move(order));
    }
}

void nursery::clone(packet order)
{
    const int cgroup = order.descriptors.size() > 1 ? order.descriptors[1].get() : -1;
    std::string answer;
    cloned child;
    try {
        child = clone_into_namespaces(all_namespaces(with_time_namespace_) | CLONE_PARENT, cgroup);
        if (child.pid == 0) live(std::move(order.descriptors[0]));
        answer = encoded(zygote_says::cloned, child.pid);
    } catch (const step_failed& failure) {
        answer = encoded(zygote_says::refused, failure.error);
    }
    const int pidfd = child.pidfd.get();
    send_packet(launcher_, answer, child.pidfd ? std::span<const int>(&pidfd, 1) : std::span<const int>());
}

void nursery::live(unique_fd control)
{
    jail_plan plan;
    plan.control = std::move(control);
    decode_plan(await_packet_or_end(plan.control.get()), plan);
    plan.filters = filters_.choose(plan.request.programs);
    plan.announcing = filters_.announcing(plan.request.programs);
    plan.executes = false;
    serve_cell(plan, {[this] { python_.before_fork(); }, [this] { python_.parent_after_fork(); },
                      [this](const run_request& expected) { expect_run(python_, expected); },
                      [this] { needed_.make_present(); },
                      [&](bool as_expected) { become_run(python_, plan, as_expected); }, own_data_});
}

}  // namespace cmcp::sandbox
