#include "launcher/tree_count.hpp"

#include "jail/setup_step.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace cmcp::sandbox {
namespace {

[[noreturn]] void count_and_end(int folder, tree_bounds most, int answer)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpriority(PRIO_PROCESS, 0, 5);
    rlimit open_files{};
    ::getrlimit(RLIMIT_NOFILE, &open_files);
    open_files.rlim_cur = open_files.rlim_max;  // one a level
    ::setrlimit(RLIMIT_NOFILE, &open_files);
    const tree_usage usage = count_tree(folder, most);
    const ssize_t written = ::write(answer, &usage, sizeof usage);
    ::_exit(written == sizeof usage ? 0 : 1);
}

}  // namespace

tree_count::tree_count(int folder, tree_bounds most)
{
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "count the workspace");
    answer_.reset(ends[0]);
    const unique_fd theirs(ends[1]);
    int pidfd = -1;
    clone_args arguments{};
    arguments.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    arguments.exit_signal = SIGCHLD;
    const long pid = check(::syscall(SYS_clone3, &arguments, sizeof arguments), "count the workspace");
    if (pid == 0) count_and_end(folder, most, theirs.get());
    process_.reset(pidfd);
}

tree_count::~tree_count()
{
    if (!process_) return;
    kill_process(process_.get());
    collect_process(process_.get());
}

tree_usage tree_count::take() const
{
    tree_usage usage;
    if (::read(answer_.get(), &usage, sizeof usage) == sizeof usage) return usage;
    return {0, 0, false};
}

}  // namespace cmcp::sandbox
