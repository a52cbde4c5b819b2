#pragma once

#include "async/task_group.hpp"
#include "directory/directory_link.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// How long the directory keeps what a server tells: longer than it takes that to tell everything again.
inline constexpr auto told_for_seconds = "1800";

/// Valkey or Redis, where the servers of a cluster tell each other what they have (CLUSTER_DIRECTORY). All of it may be
/// lost: each server writes what is its own again. Nobody waits for a directory that is away. Io thread only.
class directory {
public:
    /// Throws config_error.
    directory(asio::any_io_executor executor, const cluster_settings& config);

    awaitable<> run();  ///< keeps the connection, until it is cancelled

    bool is_there() const { return link_ != nullptr; }
    event& arrived() { return arrived_; }  ///< when it is there again

    /// Changes when something may have been published that was not heard.
    std::uint64_t connections() const { return connections_; }

    using listener = std::function<void(const std::string& text)>;

    /// From its next connection on, what members publish in news_channel.
    void listen(listener heard) { listeners_.push_back(std::move(heard)); }
    static constexpr auto news_channel = "cmcp:news";

    /// The answers to commands that go out together; nothing: it is away, or one of them is an error.
    awaitable<std::vector<directory_reply>> ask(std::vector<directory_command> commands);

private:
    awaitable<> connect_and_read(std::shared_ptr<directory_link> link, std::shared_ptr<directory_link> ear);
    void hear(const std::string& text) const;
    void note_change(bool is_there, const std::string& why);

    asio::any_io_executor executor_;
    directory_address address_;
    boost::asio::ssl::context tls_;
    std::shared_ptr<directory_link> link_;  // null: it is away
    event arrived_;
    std::uint64_t connections_ = 0;
    std::vector<listener> listeners_;
    std::string trouble_;  // as the log has it
    task_group tasks_;
};

}  // namespace cmcp
