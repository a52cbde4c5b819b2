#include "zygote/rehearsal.hpp"

#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "wire/python_start.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cmcp::sandbox {
namespace {

constexpr int rehearsal_script_place = 3;
constexpr int report_place = 10;
constexpr const char* program =
    "import json\ndef double(n):\n    return n * 2\nprint(double(3))\n_ = {'a': [double(1)]}\n";

void report(int)
{
    ::prctl(PR_SET_DUMPABLE, 1);  // its files in /proc are its own then
    const std::string bytes = working_set::of_this_process().encode();
    write_all(report_place, bytes);
}

// The streams and the place of the result are /dev/null in this process.
[[noreturn]] void perform(interpreter& python, const run_request& start, int pipe)
{
    const unique_fd script = sealed_memory("script", program);
    if (::dup2(pipe, report_place) < 0 || ::dup2(script.get(), rehearsal_script_place) < 0) ::_exit(1);
    python.after_fork();
    python.take(start);
    python.meets_other_packages();
    python.run(report);
}

// With the packages of a home that is not there: runs with packages of their own do a little more than others.
run_request rehearsed_start(const std::vector<std::string>& argv)
{
    run_request start;
    auto python = python_start::read(argv).value();
    python.isolated = false;
    start.argv = python.argv();
    start.workspace_inside = "/nonexistent";
    return start;
}

}  // namespace

working_set rehearse(interpreter& python, const std::vector<std::string>& argv)
{
    const run_request start = rehearsed_start(argv);
    auto [reading, writing] = make_pipe();
    check(reading.get(), "make a pipe");
    python.before_fork();
    const pid_t child = ::fork();
    if (child == 0) perform(python, start, writing.get());
    python.parent_after_fork();
    check(child, "start a process");
    writing.reset();
    const std::string bytes = read_all(reading.get());
    collect_child(child);
    return working_set::decode(bytes);
}

}  // namespace cmcp::sandbox
