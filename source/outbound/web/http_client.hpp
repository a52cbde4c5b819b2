#pragma once

#include "async/asio.hpp"
#include "egress/egress_ticket.hpp"
#include "egress/web_url.hpp"
#include "web/cookie_jar.hpp"
#include "web/fetch_error.hpp"

#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// The head of an answer that is no redirect.
struct fetch_head {
    web_url url;  ///< where the redirects led
    unsigned status = 0;
    std::string status_text;
    std::string type;         ///< media type in lower case, without parameters; empty: none was sent
    std::string charset;      ///< parameter of Content-Type
    std::string etag;         ///< as it was sent, with its quotes
    std::string extra_value;  ///< of fetch_request::extra_header; empty: none was sent
};

struct fetch_reply : fetch_head {
    std::string body;            ///< unpacked
    std::uint64_t received = 0;  ///< bytes of the body as they were sent
    unsigned redirects = 0;
    cookie_jar cookies;  ///< what the servers on the way asked to be told again
};

/// Takes a body piece by piece instead of fetch_reply::body, so that its size does not matter.
class body_receiver {
public:
    virtual ~body_receiver() = default;

    /// Before the first piece. `length`: bytes, where the server tells them.
    virtual awaitable<> begin(fetch_head head, std::optional<std::uint64_t> length) = 0;

    /// `piece` is valid until the returned awaitable has completed.
    virtual awaitable<> receive(std::string_view piece) = 0;
};

struct fetch_request {
    web_url url;
    std::string method = "GET";  ///< or HEAD, POST, PUT, DELETE; the last three are not redirected
    std::string accept = "*/*";
    std::vector<std::pair<std::string, std::string>> headers;  ///< sent to the first origin only
    std::string form{};                                        ///< posted as a form of the web; empty: GET
    std::string body{};                                        ///< of PUT and POST
    std::string extra_header{};                                ///< a field of the answer's head for its reader
    bool may_repeat = true;  ///< false: sent once, although a connection that was used before takes it and is gone
    std::string body_type = "application/octet-stream";
    std::uint64_t max_bytes = 10 << 20;  ///< of the body, unpacked; of a piece with a receiver
    std::size_t max_redirects = 10;
    cookie_jar cookies{};  ///< sent where they belong; a fetch begins with none unless it goes on with another
    std::chrono::milliseconds timeout{30'000};  ///< for everything
    std::string_view timeout_setting = "WEB_TIMEOUT_DEFAULT";
    body_receiver* receiver = nullptr;             ///< outlives the call
    std::function<void(const fetch_head&)> check;  ///< may throw before the body is read
    std::function<void(std::string)> progress;     ///< hears each step in a few words
};

class blocking_pool;
class idle_connections;

/// Fetches pages over HTTP/1.1 (RFC 9112), TLS verified, through the same judgement as everything that leaves the
/// server. Connections that stay open are used again for the same origin under the same policy.
class http_client {
public:
    /// `extra_ca`: PEM file of certificates to trust beside the system's; empty: none. Throws config_error,
    /// which names `setting`.
    http_client(asio::any_io_executor executor, std::filesystem::path extra_ca,
                std::string_view setting = "WEB_CA_FILE");
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;
    ~http_client();

    /// Bodies are unpacked on this pool, which must outlive this, because a few bytes can become many. Before that, and
    /// without it, servers are asked for bodies that are not packed, and others are refused.
    void unpack_on(blocking_pool& pool) { pool_ = &pool; }

    /// Follows redirects, each judged anew. Throws fetch_error; an HTTP status of 400 and above is no error.
    awaitable<fetch_reply> get(std::shared_ptr<egress_ticket> ticket, fetch_request request);

private:
    awaitable<std::shared_ptr<boost::asio::ssl::context>> trust();

    std::filesystem::path extra_ca_;
    std::string setting_;
    std::shared_ptr<boost::asio::ssl::context> trust_;  // null: nobody has asked for it
    std::shared_ptr<idle_connections> connections_;
    blocking_pool* pool_ = nullptr;
};

}  // namespace cmcp
