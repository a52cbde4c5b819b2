#include "facilities/landlock.hpp"
#include "test/execution/sandbox/run_support.hpp"

#include <unistd.h>

using namespace cmcp::sandbox;
using cmcp::sandbox::test::stage;

TEST_CASE("the probe of a real run finds what a server requires by default")
{
    stage s;
    const layers probed = cmcp::test::run_coroutine(s.io, s.backend.probe());
    for (const layer& l : probed) UNSCOPED_INFO(l.name << " " << to_string(l.is) << ": " << l.detail);
    CHECK(missing(probed, {"namespaces", "seccomp", "no_network", "limits", "capabilities", "no_new_privs"}).empty());
    if (landlock_abi() > 0) CHECK(missing(probed, {"landlock"}).empty());
    if (::geteuid() == 0) CHECK(missing(probed, {"own_uid"}).empty());
}
