#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace cmcp::engine {

/// Where paths of an exchange folder are inside of a container.
namespace inside {
inline constexpr const char* folder = "/run/container-mcp";
inline constexpr const char* result = "/run/container-mcp.result";
inline constexpr const char* report = "/run/container-mcp.report";
}  // namespace inside

/// A run and the server exchange files in a folder of the run's own, because containers get no descriptors.
/// The script, the input and a socket lie in a folder that is shown read-only; the result and the report are two files
/// that are shown one by one, so that nothing else can be made there. All calls may block. Goes with the object.
class exchange_folder {
public:
    /// Makes `root`/<random>, and `root` where it is missing. Throws std::system_error.
    explicit exchange_folder(const std::filesystem::path& root);
    exchange_folder(const exchange_folder&) = delete;
    exchange_folder& operator=(const exchange_folder&) = delete;
    ~exchange_folder();

    void put(const char* name, const std::string& content);  ///< a file that can be read inside
    unique_fd listen();                                      ///< a socket named "link", one connection at a time

    /// The file's content until now, at most `limit` bytes.
    std::string result(std::size_t limit) const;
    std::string report(std::size_t limit) const;

    std::filesystem::path shown() const { return place_ / "in"; }
    std::filesystem::path result_file() const { return place_ / "result"; }
    std::filesystem::path report_file() const { return place_ / "report"; }

    /// Removes all that is in `folder` but the entry `keep`.
    static void clear(const std::filesystem::path& folder, const std::string& keep);

private:
    std::filesystem::path place_;
    unique_fd result_;
    unique_fd report_;
};

/// Carries bytes both ways between a run's channel (run_request::channel) and the first connection to a listening
/// socket, the way by which a container reaches it. Io thread only.
class channel_bridge : public std::enable_shared_from_this<channel_bridge> {
public:
    /// Throws boost::system::system_error.
    channel_bridge(asio::any_io_executor executor, unique_fd listener, unique_fd channel);

    awaitable<> run();  ///< until both sides have ended, or close()
    void close();       ///< what has arrived by then may be lost

private:
    using socket = asio::local::stream_protocol::socket;

    awaitable<> carry(socket& from, socket& to);

    asio::local::stream_protocol::acceptor listener_;
    socket channel_;
    socket peer_;
};

}  // namespace cmcp::engine
