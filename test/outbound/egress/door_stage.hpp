#pragma once

#include "test/outbound/egress/client_hello.hpp"
#include "test/outbound/egress/egress_support.hpp"

#include <boost/asio/ssl/stream.hpp>

namespace cmcp::test {

/// A web server on 127.0.0.1, which is localhost and two.localhost, and a door with their names in front of it, at
/// the same port of addresses that are local everywhere. `%` in an entry is that port.
struct door_stage {
    explicit door_stage(std::vector<std::string> allow = {"localhost", "two.localhost"},
                        std::vector<std::string> opened = {"127.0.0.1", "::1"}, asio::ssl::context* tls = nullptr,
                        egress_limits limits = {})
        : web(io, tls)
    {
        ticket = guard.issue("test", std::make_shared<egress_policy>(sandbox_rules(here(allow), {"*"}, here(opened))),
                             limits);
        ticket->hold_to_names();
        for (const auto& name : {"localhost", "two.localhost"}) {
            const asio::ip::tcp::endpoint endpoint(names->address_of(name, false), web.port());
            tasks.spawn("door", guard.serve_named_door(asio::ip::tcp::acceptor(io, endpoint), names,
                                                       [this] { return ticket; }));
        }
    }
    ~door_stage()
    {
        tasks.cancel_all();
        guard.stop();
        run_coroutine(io, tasks.wait_idle(std::chrono::seconds(10)));
    }

    proxy_client client(const std::string& name = "localhost")
    {
        return {io, asio::ip::tcp::endpoint(names->address_of(name, false), web.port())};
    }
    std::string authority(const std::string& name = "localhost") const
    {
        return name + ":" + std::to_string(web.port());
    }
    std::string get(const std::string& path = "/", const std::string& more = {}) const
    {
        return "GET " + path + " HTTP/1.1\r\nHost: " + authority() + "\r\n" + more + "\r\n";
    }
    std::string last_rule() const { return ticket->refusals().empty() ? "" : ticket->refusals().back().rule; }

    asio::io_context io;
    origin web;
    std::shared_ptr<name_addresses> names =
        std::make_shared<name_addresses>(asio::ip::make_network_v4("127.77.0.0/16"));
    egress_guard guard{io.get_executor(), std::make_shared<egress_policy>()};
    std::shared_ptr<egress_ticket> ticket;

private:
    std::vector<std::string> here(std::vector<std::string> entries) const
    {
        for (auto& entry : entries)
            if (const auto at = entry.find('%'); at != std::string::npos)
                entry.replace(at, 1, std::to_string(web.port()));
        return entries;
    }

    task_group tasks{io.get_executor()};
};

/// A fatal alert (RFC 8446 section 6) and nothing else.
inline std::string alert_of(char description) { return std::string("\x15\3\3\0\2\2", 6) + description; }
constexpr char access_denied_alert = 49, unrecognized_name_alert = 112;

}  // namespace cmcp::test
