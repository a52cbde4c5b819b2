#pragma once

#include "web/connection_pool.hpp"

namespace cmcp {

/// One call of http_client::get: its deadline, the phase it is in, and the answer as it grows.
class fetch {
public:
    fetch(std::shared_ptr<http_client::pool> connections, std::shared_ptr<egress_ticket> ticket, fetch_request request);

    awaitable<fetch_reply> run();

private:
    awaitable<> follow_all();
    awaitable<bool> one_request();  ///< false: the connection was stale, nothing was answered
    awaitable<> open();
    awaitable<> connect();
    awaitable<> read_answer();
    awaitable<> skip_body();
    awaitable<> read_body();
    void take_body(std::size_t length);
    void enter(std::string phase, std::string detail);
    void redirect();
    bool is_redirect() const;
    void read_head();
    void check_length() const;
    http_stream::request make_request() const;
    [[noreturn]] void fail(const boost::system::error_code& failure) const;
    [[noreturn]] void timed_out() const;
    void report_bytes();

    std::shared_ptr<http_client::pool> pool_;
    std::shared_ptr<egress_ticket> ticket_;
    fetch_request asked_;
    fetch_reply reply_;
    web_url at_;
    std::string first_origin_;
    std::unique_ptr<http_stream> stream_;
    std::optional<http_stream::parser> parser_;
    std::vector<char> piece_;
    std::string phase_ = "resolving";
    std::uint64_t expected_ = 0;
    std::chrono::steady_clock::time_point last_report_;
};

}  // namespace cmcp
