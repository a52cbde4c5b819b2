#include "launcher/tree_count.hpp"

#include "jail/namespaces.hpp"
#include "jail/setup_step.hpp"
#include "posix/child_process.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tuple>


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
    unique_fd theirs;
    std::tie(answer_, theirs) = make_pipe(O_NONBLOCK);
    check(answer_.get(), "count the workspace");
    cloned child = clone_into_namespaces(0, -1);
    if (child.pid == 0) count_and_end(folder, most, theirs.get());
    process_ = std::move(child.pidfd);
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
