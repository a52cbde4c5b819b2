#pragma once

#include "async/asio.hpp"
#include "jail/layer.hpp"
#include "posix/unique_fd.hpp"
#include "sandbox/launcher_process.hpp"
#include "wire/browser_host_protocol.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

/// The browser cannot be started; what() is a sentence that says what to do.
struct browser_unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The command line of the browser: no window, no services of its own, nothing kept, everything through the proxy. Each
/// switch is the browser's own (content/public/common/content_switches.cc and its siblings).
std::vector<std::string> browser_command_line(const std::string& program, const std::string& profile,
                                              std::uint16_t proxy_port);

/// The managed policy (chromeenterprise.google/policies) in JSON: a second lock on what the command line says, and on
/// schemes that lead into the machine. `certificates`: PEM, certificates that are trusted beside the browser's own.
std::string browser_policy(const std::string& certificates);

/// Whether Chromium can make its own sandbox in the namespaces of `host_path`, found by a trial without the browser; a
/// layer without a name. Blocks for some milliseconds.
sandbox::layer try_browser_sandbox(const std::string& host_path, const std::string& program);

/// A browser in namespaces of its own, whose network holds nothing but the listeners that the server answers. It and
/// all it wrote are gone with this object, and when the server's process ends.
class browser_process {
public:
    /// Starts the host program `host_path` and asks for the browser; started() waits for it. `policy`: JSON of the
    /// managed policy. Throws browser_unavailable.
    browser_process(asio::any_io_executor executor, const std::string& host_path,
                    const browser_host_protocol::start_message& start, const std::string& policy);
    browser_process(const browser_process&) = delete;
    browser_process& operator=(const browser_process&) = delete;
    ~browser_process();  ///< kills what is left

    /// Waits until the namespaces stand and the program is about to run. Throws browser_unavailable.
    awaitable<> started();

    /// Waits until the browser has ended and says how, in a sentence.
    awaitable<std::string> ended();

    void kill();  ///< at once; the last processes are gone some milliseconds later

    /// Asks for the end and waits until nothing is left, at most `limit`.
    awaitable<> stop(std::chrono::milliseconds limit);

    asio::local::stream_protocol::socket take_stream() { return std::move(stream_); }
    std::vector<asio::ip::tcp::acceptor> take_listeners() { return std::move(listeners_); }
    bool own_sandbox() const { return own_sandbox_; }  ///< Chromium's own sandbox works inside
    int pid() const { return host_.pid; }              ///< of the host program

private:
    awaitable<browser_host_protocol::event_message> next_event();
    void adopt_listeners(std::vector<unique_fd> descriptors);

    asio::any_io_executor executor_;
    sandbox::launcher_process host_;
    asio::posix::stream_descriptor control_;
    asio::local::stream_protocol::socket stream_;
    std::vector<asio::ip::tcp::acceptor> listeners_;
    bool own_sandbox_ = false;
};

}  // namespace cmcp
