#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "config/directory_address.hpp"
#include "directory/directory_reply.hpp"
#include "streams/byte_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// A connection to the directory. Commands of many coroutines go out in their order, without waiting for each
/// other's answers. Io thread only.
class directory_link {
public:
    /// `tls` must outlive this.
    directory_link(directory_address to, boost::asio::ssl::context& tls) : to_(std::move(to)), tls_(tls) {}

    awaitable<> connect();  ///< and logs in; throws directory_away

    /// Reads answers until the connection ends, and throws directory_away with the reason.
    awaitable<> read();
    awaitable<> write();  ///< what is asked, until the connection ends; beside read()

    /// Asks for what is published in the channel; `heard` takes each text. A link that listens is asked nothing else.
    awaitable<> listen(std::string channel, std::function<void(const std::string& text)> heard);

    /// The answers, in their order. Nothing: the connection has ended, or gave none in time, which ends it.
    awaitable<std::vector<directory_reply>> ask(std::vector<directory_command> commands);

    void close();

private:
    struct question {
        std::size_t missing = 0;
        std::vector<directory_reply> answers{};
        event answered{};
    };

    awaitable<> log_in();
    awaitable<std::string> read_some();
    awaitable<> write_all(std::string bytes);
    void note(directory_reply answer);

    directory_address to_;
    boost::asio::ssl::context& tls_;
    std::unique_ptr<byte_stream> stream_;  // null: before connect()
    directory_replies replies_;
    std::string unsent_;
    event more_;
    std::deque<std::shared_ptr<question>> waiting_;
    std::function<void(const std::string& text)> heard_;  // null: nothing comes unasked
    bool closed_ = false;
};

}  // namespace cmcp
