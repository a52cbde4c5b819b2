#pragma once

#include "posix/unique_fd.hpp"

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// The sockets of the place where a server listens: each TCP address that a host's name stands for, or the UNIX socket
/// of "unix:/path", which has mode 0600. Clients that connect before somebody accepts wait.
class bound_address {
public:
    bound_address() = default;  ///< none

    /// Throws std::runtime_error with a sentence when no address can be had. Port 0: one that is free. `secure`: the
    /// server speaks TLS there, unless it is a UNIX socket.
    bound_address(const std::string& host, std::uint16_t port, bool secure = false);

    /// The UNIX socket `listening`, which another process has opened at `path`.
    bound_address(std::string path, unique_fd listening) : path_(std::move(path))
    {
        sockets_.push_back(std::move(listening));
    }

    /// Whether no other machine can reach what `host` stands for.
    static bool only_this_machine(const std::string& host);

    std::vector<unique_fd> take_sockets() { return std::move(sockets_); }  ///< listening and non-blocking

    const std::string& path() const { return path_; }  ///< of the UNIX socket; empty: TCP
    const boost::asio::ip::address& ip() const { return ip_; }
    std::uint16_t port() const { return port_; }  ///< 0: a UNIX socket

    bool is_local() const { return !path_.empty() || ip_.is_loopback(); }
    bool is_secure() const { return secure_; }
    bool is_unspecified() const { return path_.empty() && ip_.is_unspecified(); }

    /// How a client of this machine names the server; of a UNIX socket the part behind the socket's path.
    std::string url() const;

private:
    void bind_path();
    void bind_addresses(const std::string& host, std::uint16_t port);

    std::vector<unique_fd> sockets_;
    std::string path_;
    boost::asio::ip::address ip_;
    std::uint16_t port_ = 0;
    bool secure_ = false;
};

/// The path of "unix:/path"; empty: `host` is none.
std::string unix_path_of(const std::string& host);

}  // namespace cmcp
