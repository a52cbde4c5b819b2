#pragma once

#include "test/execution/sandbox/beside.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cmcp::sandbox::test {

/// The server's end of doors: keeps those of each cell, and what it was told, in that order.
class door_keeper {
public:
    explicit door_keeper(stage& s) : stage_(s)
    {
        s.backend.on_doors([this](cell_name cell, std::vector<unique_fd> sockets) {
            calls.emplace_back(cell.cell, sockets.size());
            doors_[cell.cell] = std::move(sockets);
        });
    }
    door_keeper(const door_keeper&) = delete;
    door_keeper& operator=(const door_keeper&) = delete;
    ~door_keeper() { stage_.backend.on_doors({}); }

    void await_calls(std::size_t count)
    {
        stage_.io.restart();
        while (calls.size() < count && stage_.io.run_one() != 0) {
        }
        REQUIRE(calls.size() >= count);
    }
    int door(std::size_t number, const std::string& cell = "one")
    {
        REQUIRE(doors_[cell].size() > number);
        return doors_[cell][number].get();
    }

    std::vector<std::pair<std::string, std::size_t>> calls;  ///< cell and number of sockets

private:
    stage& stage_;
    std::map<std::string, std::vector<unique_fd>> doors_;
};

inline bool becomes_readable(int socket)
{
    pollfd ready{socket, POLLIN, 0};
    return ::poll(&ready, 1, 30'000 * slowness()) == 1;
}

/// A connection that came to a door, and the address and port that were meant.
struct visitor {
    unique_fd socket{};
    std::string address{};
    int port = 0;

    std::string hear() const
    {
        char bytes[256];
        const ssize_t count = becomes_readable(socket.get()) ? ::recv(socket.get(), bytes, sizeof bytes, 0) : 0;
        return {bytes, static_cast<std::size_t>(std::max<ssize_t>(0, count))};
    }
    void say(const std::string& text) const { static_cast<void>(::send(socket.get(), text.data(), text.size(), 0)); }
};

inline visitor accept_at(int door)
{
    REQUIRE(becomes_readable(door));
    visitor guest{unique_fd(::accept4(door, nullptr, nullptr, SOCK_CLOEXEC))};
    REQUIRE(guest.socket);
    sockaddr_storage meant{};
    socklen_t length = sizeof meant;
    REQUIRE(::getsockname(guest.socket.get(), reinterpret_cast<sockaddr*>(&meant), &length) == 0);
    const bool v6 = meant.ss_family == AF_INET6;
    const auto& in4 = reinterpret_cast<const sockaddr_in&>(meant);
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(meant);
    char text[INET6_ADDRSTRLEN];
    const void* const bytes = v6 ? static_cast<const void*>(&in6.sin6_addr) : &in4.sin_addr;
    guest.address = ::inet_ntop(meant.ss_family, bytes, text, sizeof text);
    guest.port = ntohs(v6 ? in6.sin6_port : in4.sin_port);
    if (const std::string mapped = "::ffff:"; guest.address.starts_with(mapped)) guest.address.erase(0, mapped.size());
    return guest;
}

/// Answers every question for a name by 198.18.0.7 or fd63:6d63:7000::7 as long as it lives.
class name_server {
public:
    explicit name_server(int door) : door_(door)
    {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        stopped_.reset(ends[0]);
        stop_.reset(ends[1]);
        thread_ = std::thread([this] { serve(); });
    }
    name_server(const name_server&) = delete;
    name_server& operator=(const name_server&) = delete;
    ~name_server() { end(); }

    std::vector<std::string> end()  ///< the names that it was asked for
    {
        stop_.reset();
        if (thread_.joinable()) thread_.join();
        return names_;
    }

private:
    void serve()
    {
        for (;;) {
            pollfd all[] = {{door_, POLLIN, 0}, {stopped_.get(), POLLIN, 0}};
            ::poll(all, 2, -1);
            if (all[1].revents != 0) return;
            answer_next();
        }
    }
    void answer_next()
    {
        char bytes[512];
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        const ssize_t count = ::recvfrom(door_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (count <= 0) return;
        const std::string answer = answer_to({bytes, static_cast<std::size_t>(count)});
        ::sendto(door_, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
    }
    // RFC 1035, 4.1: the question again, and one record with a pointer to its name.
    std::string answer_to(const std::string& query)
    {
        using namespace std::string_literals;
        std::string name;
        std::size_t at = 12;
        for (; at < query.size() && query[at] != 0; at += 1 + static_cast<std::size_t>(query[at]))
            name += query.substr(at + 1, static_cast<std::size_t>(query[at])) + '.';
        names_.push_back(name);
        const std::string kind = query.substr(at + 1, 2), question = query.substr(12, at + 5 - 12);
        const std::string v4 = "\0\4\xc6\x12\0\7"s, v6 = "\0\x10\xfd\x63\x6d\x63\x70\0\0\0\0\0\0\0\0\0\0\7"s;
        return query.substr(0, 2) + "\x81\x80\0\1\0\1\0\0\0\0"s + question + "\xc0\x0c"s + kind + "\0\1\0\0\0\x3c"s +
               (kind == "\0\1"s ? v4 : v6);
    }

    int door_;
    unique_fd stop_, stopped_;
    std::vector<std::string> names_;
    std::thread thread_;
};

}  // namespace cmcp::sandbox::test
