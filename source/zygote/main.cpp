#include "zygote/interpreter.hpp"
#include "zygote/nursery.hpp"
#include "zygote/packed_memory.hpp"
#include "zygote/rehearsal.hpp"

#include "jail/capabilities.hpp"
#include "posix/unique_fd.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>

namespace {

using namespace cmcp;

constexpr int launcher_socket = 3;

bool is_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

// Low numbers are where a run finds its own descriptors (0 to 4): nothing else may ever be there.
void settle_descriptors()
{
    ::fcntl(launcher_socket, F_SETFD, FD_CLOEXEC);
    ::syscall(SYS_close_range, 4u, ~0u, 0);
    while (::open("/dev/null", O_RDWR | O_CLOEXEC) < 4) {
    }
}

// Children get theirs from their own user namespace.
void protect_this_process()
{
    ::prctl(PR_SET_NAME, "python3");
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::umask(022);
    sandbox::drop_all_capabilities();
}

void say(sandbox::zygote_says what, const std::string& text)
{
    sandbox::wire_writer message;
    message.number(static_cast<char>(what));
    message.text(text);
    sandbox::send_packet(launcher_socket, message.take());
}

int serve(const std::vector<std::string>& argv)
{
    const auto setup = sandbox::decode_setup(sandbox::await_packet(launcher_socket).bytes);
    sandbox::packed_memory memory;
    sandbox::interpreter python(argv);
    const std::string about = python.preload(setup.profile);
    memory.settle();
    sandbox::nursery children(python, sandbox::rehearse(python, argv), launcher_socket, setup);
    say(sandbox::zygote_says::ready, about);
    children.serve();
    return 0;
}

}  // namespace

int main(int argc, char** argv)
{
    if (!is_socket(launcher_socket)) {
        std::fputs("container-mcp-zygote is started by container-mcp-launcher; it does nothing by itself.\n", stderr);
        return 2;
    }
    protect_this_process();
    settle_descriptors();
    try {
        return serve({argv, argv + argc});
    } catch (const std::exception& failure) {
        say(sandbox::zygote_says::failed, failure.what());
        return 1;
    }
}
