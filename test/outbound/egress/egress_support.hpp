#pragma once

#include "config/settings.hpp"
#include "egress/egress_guard.hpp"
#include "test/outbound/web/origin.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace cmcp::test {

inline std::shared_ptr<const egress_policy> rules(std::vector<std::string> domains, std::vector<std::string> opened)
{
    settings config;
    config.web_allowed_domains = std::move(domains);
    config.web_allowed_private = std::move(opened);
    return std::make_shared<egress_policy>(egress_policy::from_settings(config));
}

/// A connection to the proxy at a door of the ticket's, talked to in bytes.
class proxy_client {
public:
    proxy_client(asio::io_context& io, egress_guard& guard, const egress_ticket& ticket) : io_(io), socket_(io)
    {
        asio::ip::tcp::acceptor door(io, {asio::ip::address_v4::loopback(), 0});
        socket_.connect(door.local_endpoint());
        guard.serve(door.accept(), ticket);
    }
    proxy_client(asio::io_context& io, const asio::ip::tcp::endpoint& door) : io_(io), socket_(io)
    {
        socket_.connect(door);
    }
    void write(const std::string& bytes) { asio::write(socket_, asio::buffer(bytes)); }
    void half_close() { socket_.shutdown(asio::ip::tcp::socket::shutdown_send); }

    /// A header and as much body as it says, or all until the end of the connection.
    std::string read_answer(bool head = false) { return run_coroutine(io_, answer(head)); }
    std::string read_bytes(std::size_t count) { return run_coroutine(io_, bytes(count)); }
    std::string read_rest() { return run_coroutine(io_, rest()); }

private:
    awaitable<std::string> answer(bool head)
    {
        auto [failure, end] =
            co_await asio::async_read_until(socket_, asio::dynamic_buffer(buffer_), "\r\n\r\n", as_tuple);
        if (failure) co_return "";
        std::string text = buffer_.substr(0, end);
        buffer_.erase(0, end);
        const auto at = text.find("Content-Length: ");
        if (head || at == std::string::npos) co_return text;
        const std::string body = co_await bytes(std::stoul(text.substr(at + 16)));
        co_return text + body;
    }
    awaitable<std::string> bytes(std::size_t count)
    {
        if (buffer_.size() < count) {
            const auto missing = asio::transfer_exactly(count - buffer_.size());
            co_await asio::async_read(socket_, asio::dynamic_buffer(buffer_), missing, asio::use_awaitable);
        }
        std::string text = buffer_.substr(0, count);
        buffer_.erase(0, count);
        co_return text;
    }
    awaitable<std::string> rest()
    {
        co_await asio::async_read(socket_, asio::dynamic_buffer(buffer_), asio::transfer_all(), as_tuple);
        co_return std::exchange(buffer_, {});
    }

    asio::io_context& io_;
    asio::ip::tcp::socket socket_;
    std::string buffer_;
};

inline std::vector<egress_entry> entries_of(const std::vector<std::string>& texts)
{
    std::vector<egress_entry> entries;
    for (const auto& text : texts) entries.push_back(egress_entry::parse(text));
    return entries;
}

inline egress_policy sandbox_rules(const std::vector<std::string>& allow, const std::vector<std::string>& ceiling,
                                   const std::vector<std::string>& opened = {})
{
    return egress_policy::of_sandbox(entries_of(allow), entries_of(ceiling), entries_of(opened));
}

/// A web server behind a guard that has its address opened.
struct guard_stage {
    asio::io_context io;
    origin web{io};
    egress_guard guard{io.get_executor(), rules({"*"}, {web.authority()})};

    proxy_client client(const egress_ticket& ticket) { return {io, guard, ticket}; }
    static std::string get(const std::string& url, const std::string& method = "GET")
    {
        return method + " " + url + " HTTP/1.1\r\nHost: elsewhere\r\n\r\n";
    }
    static std::string connect(const std::string& target)
    {
        return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n";
    }
};

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cmcp::test
