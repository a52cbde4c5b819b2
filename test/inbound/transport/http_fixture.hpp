#pragma once

#include "config/settings.hpp"
#include "entrances/http_server.hpp"
#include "mcp/server_core.hpp"
#include "test/inbound/transport/raw_client.hpp"
#include "test/support/eventually.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace cmcp::test {

/// The gate that the fixture's tools wait at, and their counters.
struct tool_probe {
    explicit tool_probe(asio::any_io_executor executor) : gate(executor, asio::steady_timer::time_point::max()) {}

    asio::steady_timer gate;  ///< cancelled by release()
    bool open = false;
    std::atomic<int> started{0};
    std::atomic<int> finished{0};
    std::atomic<int> cancelled{0};
    std::atomic<int> sent{0};  ///< notifications that were taken
};

/// A real server on port 0, run by a thread of its own. Tools:
///   echo {text}            answers at once
///   broken {}              throws an exception that is no tool error
///   wait {}                answers "released" after release()
///   chat {count, size}     sends notifications, then answers
///   talk_and_wait {}       one notification, waits for release(), another one, answers
///   print {}               prints on both streams, logs, sends a heartbeat, answers
///   poll {}                one notification, ends its stream, waits for release(), another one, answers
///   unusable {}            has an obstacle
class http_fixture {
public:
    /// The parts must outlive this.
    explicit http_fixture(settings config = quick_settings(), readiness_check ready = {}, http_parts to = {});

    /// A part that a test adds to the server.
    struct addition {
        virtual ~addition() = default;
        virtual http_parts add(asio::io_context& io, server_core& core) = 0;
        virtual void before_start(asio::io_context& io, http_server& server) = 0;
        virtual void after_stop() = 0;  ///< while nothing else of the server runs; once or twice
    };
    http_fixture(settings config, addition& more);
    ~http_fixture();

    static settings quick_settings();

    std::uint16_t port() const { return port_; }
    void release();
    void stop();  ///< waits until the server has stopped
    std::future<void> begin_stop();
    tool_probe& probe() { return *probe_; }

    /// initialize and initialized; returns the session id.
    std::string open_session(std::string_view revision = "2025-06-18");

    json::value health();

private:
    http_fixture(settings config, readiness_check ready, http_parts to, addition* more);

    settings config_;
    asio::io_context io_;
    std::shared_ptr<blocking_pool> pool_ = std::make_shared<blocking_pool>();
    std::shared_ptr<tool_probe> probe_;
    server_core core_;
    std::unique_ptr<http_server> server_;
    std::uint16_t port_ = 0;
    std::thread thread_;
    addition* more_ = nullptr;
    bool stopped_ = false;
};

std::string call(int id, std::string_view tool, std::string_view arguments = "{}");
std::string call_2026(int id, std::string_view tool, std::string_view arguments = "{}");
std::string headers_2026(std::string_view tool);
std::string in_session(std::string_view id);

/// Sends a request over a connection of its own.
raw_response request(http_fixture& server, const std::string& bytes);

}  // namespace cmcp::test
