#pragma once

#include "streams/stream_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp::test {

/// A connection of which one end is a stream_socket and the other belongs to the test.
class stream_pair {
public:
    explicit stream_pair(asio::io_context& io) : near(io)
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no socket pair");
        near.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
        far = ends[1];
    }
    stream_pair(const stream_pair&) = delete;
    stream_pair& operator=(const stream_pair&) = delete;
    ~stream_pair() { end(); }

    void send(std::string_view bytes) const
    {
        if (::send(far, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error("the other end takes nothing");
    }

    /// Waits until so many bytes have come.
    std::string receive(std::size_t size) const
    {
        std::string all(size, '\0');
        if (::recv(far, all.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size))
            throw std::runtime_error("the connection ended early");
        return all;
    }

    void end()
    {
        if (far >= 0) ::close(far);
        far = -1;
    }

    stream_socket near;
    int far = -1;
};

}  // namespace cmcp::test
