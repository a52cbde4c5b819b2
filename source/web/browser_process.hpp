#pragma once

#include "async/asio.hpp"
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

struct browser_process_options {
    std::string host_path;               ///< absolute path of container-mcp-browser
    std::vector<std::string> argv;       ///< argv[0] is the browser's absolute path
    std::string policy;                  ///< JSON of the managed policy
    std::uint64_t memory = 1ull << 30;   ///< bytes
    std::uint64_t files = 256ull << 20;  ///< bytes
    std::uint32_t proxies = 1;
};

/// A browser in namespaces of its own, whose network holds nothing but the listeners that the server answers. It and
/// all it wrote are gone with this object, and when the server's process ends in whatever way.
class browser_process {
public:
    /// Starts the host program and asks for the browser; started() waits for it. Throws browser_unavailable.
    browser_process(asio::any_io_executor executor, const browser_process_options& chosen);
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
    std::uint64_t memory_kills() const { return memory_kills_; }

private:
    awaitable<browser_host_protocol::event_message> next_event();
    void adopt_listeners(std::vector<unique_fd> descriptors);

    asio::any_io_executor executor_;
    sandbox::launcher_process host_;
    asio::posix::stream_descriptor control_;
    asio::local::stream_protocol::socket stream_;
    std::vector<asio::ip::tcp::acceptor> listeners_;
    bool own_sandbox_ = false;
    std::uint64_t memory_kills_ = 0;
};

}  // namespace cmcp
