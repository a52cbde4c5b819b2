#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace cmcp::test {

/// Runs `body` in a forked child and returns what it returned (0 to 125); -1 when a signal ended it. No assertions
/// inside.
template <class Body>
int in_child(Body body)
{
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cmcp::test
