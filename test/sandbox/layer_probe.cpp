#include "jail/landlock.hpp"
#include "test/sandbox/run_support.hpp"

#include <unistd.h>

using namespace cmcp::sandbox;
using cmcp::sandbox::test::stage;

TEST_CASE("the probe of a real run finds what a server requires by default")
{
    stage s;
    const layers found = cmcp::test::run_coroutine(s.io, s.backend.probe());
    for (const layer& l : found) UNSCOPED_INFO(l.name << " " << to_string(l.is) << ": " << l.detail);
    CHECK(missing(found, {"namespaces", "seccomp", "no_network", "limits", "capabilities", "no_new_privs"}).empty());
    if (landlock_abi() > 0) CHECK(missing(found, {"landlock"}).empty());
    if (::geteuid() == 0) CHECK(missing(found, {"own_uid"}).empty());
}
