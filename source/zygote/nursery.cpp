#include "zygote/nursery.hpp"

#include "jail/closing.hpp"
#include "jail/payload.hpp"
#include "jail/setup_step.hpp"
#include "posix/child_process.hpp"
#include "wire/wire.hpp"

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

/// Process 2 of a run: the interpreter that is already there, or a start of its own where that one has loaded too much.
class prepared_guest final : public guest {
public:
    prepared_guest(interpreter& python, const working_set& needed, jail_plan& plan)
        : python_(python), needed_(needed), plan_(plan)
    {
    }

    void before_fork() override { python_.before_fork(); }

    [[noreturn]] void become() override
    {
        check(::setsid(), "new session");
        needed_.make_present();
        python_.after_fork();
        python_.take(plan_.request);
        wait_for_run(plan_);
        take_places(plan_);
        if (plan_.probe) answer_probe(plan_);
        if (python_.meets_other_packages()) execute();
        ::prctl(PR_SET_DUMPABLE, 1);  // as exec would: the run's own files in /proc are its own
        ::close(plan_.control.get());
        python_.run(end_in_advance);
    }

private:
    [[noreturn]] void execute()
    {
        send_packet(plan_.control.get(), encoded(child_says::executes));
        std::vector<std::string> environment = make_environment(plan_.request);
        ::execve(plan_.request.argv.at(0).c_str(), pointers(plan_.request.argv).data(), pointers(environment).data());
        throw step_failed("start program " + plan_.request.argv.at(0));
    }

    static void end_in_advance(int status)
    {
        if (status == 0) tell_end_in_advance();
    }

    interpreter& python_;
    const working_set& needed_;
    jail_plan& plan_;
};

}  // namespace

nursery::nursery(interpreter& python, working_set needed, int launcher, const zygote_setup& setup)
    : python_(python),
      needed_(std::move(needed)),
      launcher_(launcher),
      filters_(setup.memory_is_counted),
      with_time_namespace_(setup.with_time_namespace),
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
        child = clone_for_parent(with_time_namespace_, cgroup);
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
    // Memory that the interpreter held before the run began is not the run's.
    plan.request.limits.memory += own_data_;
    plan.executes = false;
    prepared_guest inside(python_, needed_, plan);
    run_child(plan, inside);
}

}  // namespace cmcp::sandbox
