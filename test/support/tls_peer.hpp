#pragma once

#include "posix/unique_fd.hpp"
#include "test/support/certificates.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <stdexcept>

namespace cmcp::test {

/// A connected socket of this machine that gives up after a while.
inline unique_fd connected_to(std::uint16_t port, int receive_buffer = 0)
{
    unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer != 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error("the server does not accept");
    return fd;
}

/// A client of TLS that waits for each of its operations.
class tls_peer {
public:
    struct terms {
        int newest = 0;  ///< 0: any version
        std::optional<certificates::pair> certificate{};
        std::string alpn{};
        SSL_SESSION* resumes = nullptr;
    };

    explicit tls_peer(unique_fd socket) : tls_peer(std::move(socket), terms()) {}
    tls_peer(unique_fd socket, const terms& of) : fd_(std::move(socket)), context_(::SSL_CTX_new(::TLS_client_method()))
    {
        std::signal(SIGPIPE, SIG_IGN);
        if (of.newest != 0) SSL_CTX_set_max_proto_version(context_.get(), of.newest);
        if (of.certificate) {
            ::SSL_CTX_use_certificate_chain_file(context_.get(), of.certificate->certificate.c_str());
            ::SSL_CTX_use_PrivateKey_file(context_.get(), of.certificate->key.c_str(), SSL_FILETYPE_PEM);
        }
        ssl_.reset(::SSL_new(context_.get()));
        const std::string offered = static_cast<char>(of.alpn.size()) + of.alpn;
        if (!of.alpn.empty())
            ::SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offered.data()),
                                  static_cast<unsigned>(offered.size()));
        if (of.resumes != nullptr) ::SSL_set_session(ssl_.get(), of.resumes);
        ::SSL_set_fd(ssl_.get(), fd_.get());
        connected_ = ::SSL_connect(ssl_.get()) == 1;
    }

    bool connected() const { return connected_; }
    SSL* ssl() { return ssl_.get(); }
    int socket() const { return fd_.get(); }

    bool send(std::string_view bytes)
    {
        return ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
    }

    /// All that comes up to `mark`, or to the end.
    std::string until(std::string_view mark)
    {
        std::string heard;
        char room[4096];
        while (heard.find(mark) == std::string::npos) {
            const int size = ::SSL_read(ssl_.get(), room, sizeof room);
            if (size <= 0) break;
            heard.append(room, static_cast<std::size_t>(size));
        }
        return heard;
    }

    /// The next answer of HTTP that has a Content-Length.
    std::string answer()
    {
        std::string heard;
        while (heard.find("\r\n\r\n") == std::string::npos) {
            auto more = some();
            if (more.empty()) return heard;
            heard += more;
        }
        const auto field = heard.find("Content-Length: ");
        if (field == std::string::npos) return heard;
        const auto whole = heard.find("\r\n\r\n") + 4 + std::stoul(heard.substr(field + 16));
        while (heard.size() < whole) {
            auto more = some();
            if (more.empty()) break;
            heard += more;
        }
        return heard;
    }

    void say_end() { ::SSL_shutdown(ssl_.get()); }
    void close() { fd_.reset(); }

    /// The connection ends with a reset.
    void reset()
    {
        const linger at_once{1, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        fd_.reset();
    }

private:
    std::string some()
    {
        char room[16 * 1024];
        const int size = ::SSL_read(ssl_.get(), room, sizeof room);
        return size > 0 ? std::string(room, static_cast<std::size_t>(size)) : std::string();
    }

    struct freeing {
        void operator()(SSL* one) const { ::SSL_free(one); }
        void operator()(SSL_CTX* one) const { ::SSL_CTX_free(one); }
    };

    unique_fd fd_;
    std::unique_ptr<SSL_CTX, freeing> context_;
    std::unique_ptr<SSL, freeing> ssl_;
    bool connected_ = false;
};

}  // namespace cmcp::test
