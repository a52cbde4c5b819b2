#include "browser_host/browser_host.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace {

constexpr int server_socket = 3;

bool is_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

// Low numbers are where the browser finds its own descriptors (0 to 4): nothing else may ever be there.
void settle_descriptors()
{
    ::fcntl(server_socket, F_SETFD, FD_CLOEXEC);
    ::syscall(SYS_close_range, 4u, ~0u, 0);
    while (::open("/dev/null", O_RDWR | O_CLOEXEC) < 4) {
    }
}

}  // namespace

int main()
{
    if (!is_socket(server_socket)) {
        std::fputs("container-mcp-browser is started by container-mcp; it does nothing by itself.\n", stderr);
        return 2;
    }
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the socket's end says the same; this holds if someone else keeps the socket
    ::umask(022);
    settle_descriptors();
    try {
        cmcp::browser_host::host(cmcp::unique_fd(server_socket)).serve();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp-browser: %s\n", failure.what());
        return 1;
    }
}
