#include "launcher/inside.hpp"
#include "launcher/launcher.hpp"
#include "wire/program_starter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

constexpr int server_socket = 3;

bool is_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

// Low numbers are where a run finds its own descriptors (0 to 4): nothing else may ever be there.
void settle_descriptors()
{
    ::fcntl(server_socket, F_SETFD, FD_CLOEXEC);
    ::syscall(SYS_close_range, 4u, ~0u, 0);
    while (::open("/dev/null", O_RDWR | O_CLOEXEC) < 4) {
    }
}

void protect_this_process()
{
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // the socket's end says the same; this holds if someone else keeps the socket
    ::umask(022);
}

cmcp::sandbox::launcher_settings read_arguments(const std::vector<std::string>& arguments)
{
    const std::string workspaces = "--workspaces=", firejail = "--firejail=", waiting = "--waiting=";
    cmcp::sandbox::launcher_settings settings;
    for (const auto& each : arguments) {
        if (each == "--no-cgroups") settings.use_cgroups = false;
        if (each.starts_with(firejail)) settings.firejail = each.substr(firejail.size());
        if (each.starts_with(waiting)) settings.waiting = std::stoul(each.substr(waiting.size()));
        if (each.starts_with(workspaces)) settings.workspaces = each.substr(workspaces.size());
    }
    return settings;
}

}  // namespace

int main(int argc, char** argv)
{
    if (!is_socket(server_socket)) {
        std::fputs("container-mcp-launcher is started by container-mcp; it does nothing by itself.\n", stderr);
        return 2;
    }
    protect_this_process();
    settle_descriptors();
    try {
        if (argc > 1 && std::string(argv[1]) == cmcp::sandbox::inside_argument)
            cmcp::sandbox::live_inside(cmcp::unique_fd(server_socket));
        else if (argc > 1 && std::string(argv[1]) == "--starter")
            cmcp::sandbox::serve_program_starter(server_socket);
        else
            cmcp::sandbox::launcher(cmcp::unique_fd(server_socket), read_arguments({argv + 1, argv + argc})).serve();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp-launcher: %s\n", failure.what());
        return 1;
    }
}
