#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp::test {

/// A step of a test web server's reply to one request.
struct step {
    enum class kind { send, endless, drip, hang, close };
    kind is = kind::send;
    std::string bytes;
    std::chrono::milliseconds pause{0};
};
using script = std::vector<step>;

inline script send(std::string bytes) { return {{step::kind::send, std::move(bytes), {}}}; }

/// A whole answer with Content-Length.
std::string answer(std::string body, std::string type = "text/html", std::string more = {},
                   std::string status = "200 OK");

/// A web server on a loopback port, over TLS when it is given a context. Paths (without the query) have scripts; others
/// get 404.
class origin {
public:
    explicit origin(asio::io_context& io, asio::ssl::context* tls = nullptr);
    ~origin();

    void on(std::string path, script steps) { scripts_[std::move(path)] = std::move(steps); }
    /// For one request of the path, before on() counts; several of them in their order.
    void once(const std::string& path, script steps) { first_[path].push_back(std::move(steps)); }
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    std::string authority() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string url(const std::string& path) const
    {
        return (tls_ != nullptr ? "https://" : "http://") + authority() + path;
    }

    std::function<script(const std::string& request)> answers;  ///< in place of on() and once(), where it is set
    std::string greeting;                                       ///< sent to a new connection before its first request
    std::vector<std::string> requests;                          ///< whole, header and body
    std::size_t connections = 0;

private:
    template <class Stream>
    static awaitable<> serve(origin* self, Stream& stream);
    static awaitable<> serve_client(origin* self, asio::ip::tcp::socket client);
    static awaitable<> accept(origin* self);

    asio::ip::tcp::acceptor acceptor_;
    asio::ssl::context* tls_;
    script script_for(const std::string& path);

    std::map<std::string, script> scripts_;
    std::map<std::string, std::deque<script>> first_;
    task_group tasks_;
};

/// A certificate authority and a certificate that it signed for `name` (a DNS name or "127.0.0.1").
struct test_ca {
    explicit test_ca(const std::string& name = "127.0.0.1", int days = 1);
    asio::ssl::context server_context() const;

    std::string authority_pem, certificate_pem, key_pem;
};

}  // namespace cmcp::test
