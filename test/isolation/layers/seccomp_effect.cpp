#include "jail/seccomp_filter.hpp"
#include "probe/probe_facts.hpp"
#include "test/isolation/layers/in_child.hpp"
#include "test/support/catch.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

using namespace cmcp;
using namespace cmcp::sandbox;

namespace {

const bpf_program& filter()
{
    static const bpf_program program = compile_filter();
    return program;
}

}  // namespace

TEST_CASE("a filtered process is refused each of the probe's forbidden calls")
{
    for (const auto& fact : refusal_facts()) {
        const std::string name = fact.key();
        INFO(name);
        const int answer = cmcp::test::in_child([&] {
            if (!install_filter(filter())) return 2;
            const auto facts = refusal_facts();
            return facts.at(name).get_bool() ? 0 : 1;
        });
        CHECK(answer == 0);
    }
}

TEST_CASE("an unfiltered process is not taken for a filtered one")
{
    const auto facts = refusal_facts();
    for (const char* name : {"unshare", "ptrace", "TIOCSTI", "clone3"}) {
        INFO(name);
        CHECK_FALSE(facts.at(name).get_bool());
    }
}

TEST_CASE("a filtered process can fork, start threads and execute a shell")
{
    const int answer = cmcp::test::in_child([] {
        if (!install_filter(filter())) return 2;
        int from_thread = 0;
        std::thread([&] { from_thread = 1; }).join();
        if (from_thread != 1) return 3;
        ::execl("/bin/sh", "sh", "-c", "test \"$(echo a | cat)\" = a", nullptr);
        return 4;
    });
    CHECK(answer == 0);
}

TEST_CASE("the filter cannot be taken off again and sets no_new_privs")
{
    const int answer = cmcp::test::in_child([] {
        if (!install_filter(filter())) return 2;
        if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 3;
        ::prctl(PR_SET_SECCOMP, 0, 0, 0, 0);
        return ::syscall(SYS_unshare, 0) == -1 && errno == EPERM ? 0 : 4;
    });
    CHECK(answer == 0);
}
