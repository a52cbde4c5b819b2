#include "launcher/measurer.hpp"

#include "facilities/capabilities.hpp"
#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>

namespace cmcp::sandbox {
namespace {

using clock = std::chrono::steady_clock;

/// Measures, with what it remembers from one time to the next.
class measuring_loop {
public:
    measuring_loop(usage_meter& meter, const measuring& what) : meter_(meter), what_(what) {}

    measured measure()
    {
        measured now;
        if (what_.memory_limit != 0) {
            now.used = meter_.measure(what_.memory_limit);
            if (!what_.ends_largest)
                now.used.memory = std::max(now.used.memory, meter_.shared());
            else if (now.used.memory > what_.memory_limit && meter_.end_largest(what_.memory_limit))
                ++times_ended_;
        }
        now.times_ended = times_ended_;
        if (what_.written_limit == 0) return now;
        now.written = meter_.written();
        if (now.written > what_.written_limit) search_deleted();
        now.deleted = deleted_;
        return now;
    }

    std::chrono::milliseconds pause(const measured& now) const
    {
        constexpr std::chrono::milliseconds for_files{50}, far_from_end{250};
        if (what_.ends_largest && now.used.memory < what_.memory_limit / 2) return far_from_end;
        return what_.memory_limit == 0 ? for_files : next_look(now.used.memory, what_.memory_limit);
    }

private:
    void search_deleted()
    {
        constexpr std::chrono::milliseconds between_searches{100};
        if (clock::now() < search_again_) return;
        deleted_ = meter_.deleted(what_.disk);
        search_again_ = clock::now() + between_searches;
    }

    usage_meter& meter_;
    measuring what_;
    std::uint64_t deleted_ = 0, times_ended_ = 0;
    clock::time_point search_again_{};
};

// A run that takes long to be measured is measured half of the time at most.
[[noreturn]] void measure_without_end(usage_meter& meter, const measuring& what, int figures)
{
    measuring_loop loop(meter, what);
    for (;;) {
        const auto begun = clock::now();
        const measured now = loop.measure();
        const auto took = clock::now() - begun;
        if (::write(figures, &now, sizeof now) != sizeof now) ::_exit(0);
        std::this_thread::sleep_for(std::max<clock::duration>(took, loop.pause(now)));
    }
}

std::vector<int> needed_descriptors(const usage_meter& meter, int figures)
{
    std::vector<int> all = meter.descriptors();
    all.push_back(figures);
    return all;
}

[[noreturn]] void live(usage_meter& meter, const measuring& what, int figures, const std::function<void()>& settle)
{
    die_with_parent();
    settle();
    close_all_but(needed_descriptors(meter, figures));
    if (!keep_only_sight(what.ends_largest) || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(1);
    measure_without_end(meter, what, figures);
}

}  // namespace

killed_processes::~killed_processes()
{
    for (const killed& each : all_) collect_process(each.pidfd.get());
}

void killed_processes::add(unique_fd pidfd, std::shared_ptr<const void> keeps)
{
    kill_process(pidfd.get());
    all_.push_back({std::move(pidfd), std::move(keeps)});
}

void killed_processes::collect()
{
    std::erase_if(all_, [](const killed& each) {
        siginfo_t end{};
        return ::waitid(P_PIDFD, static_cast<id_t>(each.pidfd.get()), &end, WEXITED | WNOHANG) != 0 || end.si_pid != 0;
    });
}

measurer::measurer(usage_meter& meter, const measuring& what, killed_processes& ended,
                   const std::function<void()>& settle, std::shared_ptr<const void> group)
    : ended_(ended), group_(std::move(group))
{
    unique_fd theirs;
    std::tie(figures_, theirs) = make_pipe();
    check(figures_.get(), "measure the run");
    check(::fcntl(figures_.get(), F_SETFL, O_NONBLOCK), "measure the run");
    cloned child = clone_into_namespaces(0, -1);
    if (child.pid == 0) live_and_end([&] { live(meter, what, theirs.get(), settle); });
    process_ = std::move(child.pidfd);
}

measurer::~measurer()
{
    if (process_) ended_.add(std::move(process_), std::move(group_));
}

std::optional<measured> measurer::take()
{
    std::optional<measured> latest;
    measured next;
    ssize_t got = 0;
    while ((got = ::read(figures_.get(), &next, sizeof next)) == sizeof next) latest = next;
    over_ = got == 0;
    return latest;
}

}  // namespace cmcp::sandbox
