#include "sandbox/terminal_master.hpp"

#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cmcp::sandbox {
namespace {

// A run decides what it sends. Only a master has a number of its other side.
bool is_master(int descriptor)
{
    unsigned number = 0;
    return ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGPTN, &number) == 0;
}

std::optional<packet> receive_quietly(int socket)
try {
    return receive_packet(socket);
} catch (const std::system_error&) {
    return packet();
}

}  // namespace

awaitable<std::optional<terminal_master>> terminal_master::receive(asio::posix::stream_descriptor& channel)
{
    std::optional<packet> first;
    while (channel.is_open() && !(first = receive_quietly(channel.native_handle()))) {
        auto [error] = co_await channel.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
        if (error) break;
    }
    std::optional<terminal_master> master;
    if (first && first->bytes == "t" && first->descriptors.size() == 1 && is_master(first->descriptors[0].get()))
        master.emplace(channel.get_executor(), std::move(first->descriptors[0]));
    co_return master;
}

terminal_master::terminal_master(const asio::any_io_executor& executor, unique_fd master) : master_(executor)
{
    ::fcntl(master.get(), F_SETFL, O_RDWR | O_NONBLOCK);
    master_.assign(master.release());
}

std::string terminal_master::read_now(std::size_t most)
{
    std::string bytes(most, '\0');
    ssize_t length = 0;
    do length = master_.is_open() ? ::read(master_.native_handle(), bytes.data(), bytes.size()) : 0;
    while (length < 0 && errno == EINTR);
    bytes.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return bytes;
}

awaitable<std::string> terminal_master::read(std::size_t most)
{
    while (master_.is_open()) {
        std::string bytes = read_now(most);
        if (!bytes.empty() || errno != EAGAIN) co_return bytes;
        auto [error] = co_await master_.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
        if (error) break;
    }
    co_return std::string();
}

awaitable<bool> terminal_master::write(std::string keys)
{
    std::string_view left = keys;
    while (!left.empty() && master_.is_open()) {
        const ssize_t length = ::write(master_.native_handle(), left.data(), left.size());
        if (length > 0) left.remove_prefix(static_cast<std::size_t>(length));
        if (length >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN) break;
        auto [error] = co_await master_.async_wait(asio::posix::stream_descriptor::wait_write, as_tuple);
        if (error) break;
    }
    co_return left.empty();
}

void terminal_master::resize(terminal_size size)
{
    winsize characters{};
    characters.ws_col = size.columns;
    characters.ws_row = size.rows;
    if (master_.is_open()) ::ioctl(master_.native_handle(), TIOCSWINSZ, &characters);
}

bool terminal_master::signal(int number)
{
    return master_.is_open() && ::ioctl(master_.native_handle(), TIOCSIG, number) == 0;
}

terminal_master::modes terminal_master::read_modes()
{
    modes seen;
    if (!master_.is_open()) return seen;
    const int master = master_.native_handle();
    termios now{};
    if (::tcgetattr(master, &now) == 0) {
        seen.by_line = (now.c_lflag & ICANON) != 0;
        seen.end_of_input = static_cast<char>(now.c_cc[VEOF]);
    }
    if (::ioctl(master, TIOCGPGRP, &seen.foreground) != 0) seen.foreground = 0;
    return seen;
}

void terminal_master::wake()
{
    boost::system::error_code ignored;
    master_.cancel(ignored);
}

void terminal_master::close()
{
    boost::system::error_code ignored;
    master_.close(ignored);
}

}  // namespace cmcp::sandbox
