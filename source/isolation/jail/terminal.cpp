#include "jail/terminal.hpp"

#include "facilities/setup_step.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp::sandbox {
namespace {

constexpr const char* step = "open a terminal";

unique_fd open_master()
{
    unique_fd master(check(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), step));
    int locked = 0;
    check(::ioctl(master.get(), TIOCSPTLCK, &locked), step);
    return master;
}

unique_fd open_program_side(int master)
{
    return unique_fd(check(::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC), step));
}

// In a line that is typed, a character of several bytes is erased as one.
void expect_utf8(int terminal)
{
    termios modes{};
    check(::tcgetattr(terminal, &modes), step);
    modes.c_iflag |= IUTF8;
    check(::tcsetattr(terminal, TCSANOW, &modes), step);
}

void set_size(int terminal, terminal_size size)
{
    winsize characters{};
    characters.ws_col = size.columns;
    characters.ws_row = size.rows;
    check(::ioctl(terminal, TIOCSWINSZ, &characters), step);
}

unique_fd copy_of(int descriptor)
{
    constexpr int first_free = 5;
    return unique_fd(check(::fcntl(descriptor, F_DUPFD_CLOEXEC, first_free), step));
}

}  // namespace

void take_terminal(jail_plan& plan)
{
    if (plan.request.terminal.columns == 0) return;
    if (!plan.script) throw step_failed(step, EBADMSG);
    const unique_fd master = open_master();
    unique_fd terminal = open_program_side(master.get());
    expect_utf8(terminal.get());
    set_size(terminal.get(), plan.request.terminal);
    check(::ioctl(terminal.get(), TIOCSCTTY, 0), step);
    const int sent = master.get();
    if (!send_packet(plan.script.get(), "t", {&sent, 1})) throw step_failed(step, EAGAIN);
    if (!plan.request.terminal_speaks) return;
    plan.script.reset();
    plan.output = copy_of(terminal.get());
    plan.error = copy_of(terminal.get());
    plan.input = std::move(terminal);
}

}  // namespace cmcp::sandbox
