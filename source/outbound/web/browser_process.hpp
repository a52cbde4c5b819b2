#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "posix/unique_fd.hpp"
#include "sandbox/backend.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

/// The browser cannot be started; what() is a sentence that says what to do.
struct browser_unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The command line of the browser: no window, no services of its own, nothing stored, everything through the proxy.
/// Each switch is the browser's own (content/public/common/content_switches.cc and its siblings).
std::vector<std::string> browser_command_line(const std::string& program, const std::string& profile,
                                              std::uint16_t proxy_port);

/// The managed policy (chromeenterprise.google/policies) in JSON: a second lock on what the command line says, and on
/// schemes that lead into the machine. `certificates`: PEM, certificates that are trusted beside the browser's own.
std::string browser_policy(const std::string& certificates);

/// A run of the browser, whose network holds nothing but the listeners that the server answers. It and all it wrote are
/// gone soon after this object, and when the server's process ends.
class browser_process {
public:
    /// Asks for the browser; started() waits for it. `backend` must outlive the run.
    browser_process(asio::any_io_executor executor, sandbox::backend& backend, sandbox::run_request request);
    browser_process(const browser_process&) = delete;
    browser_process& operator=(const browser_process&) = delete;

    /// Waits until its cell stands and the program is about to run. Throws browser_unavailable.
    awaitable<> started();

    /// Waits until the browser has ended and says how, in a sentence.
    awaitable<std::string> ended();

    void kill() { tasks_.cancel_all(); }  ///< the last processes are gone some milliseconds later

    /// Asks for the end and waits until nothing is left, at most `limit`.
    awaitable<> stop(std::chrono::milliseconds limit);

    asio::local::stream_protocol::socket take_stream() { return std::move(stream_); }
    std::vector<asio::ip::tcp::acceptor> take_listeners() { return std::move(listeners_); }
    bool own_sandbox() const { return own_sandbox_; }  ///< Chromium's own sandbox works inside
    int pid() const { return pid_; }                   ///< of the first process of its cell; -1: not started

private:
    struct life;
    static awaitable<> run(sandbox::backend& backend, sandbox::run_request request, std::shared_ptr<life> of);
    void take_door(sandbox::packet first);

    asio::any_io_executor executor_;
    std::shared_ptr<life> life_;
    asio::local::stream_protocol::socket stream_;
    asio::posix::stream_descriptor door_;  ///< the same socket, until the browser starts
    std::vector<asio::ip::tcp::acceptor> listeners_;
    bool own_sandbox_ = false;
    int pid_ = -1;
    task_group tasks_;
};

}  // namespace cmcp
