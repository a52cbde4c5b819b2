#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp::test {

/// A frame of attached output: stream 1 or 2 and its bytes.
std::string frame(int stream, std::string_view bytes);

/// An engine on a Unix socket that has the image "there" and runs one container at a time. A started container calls
/// `program`, which the test sets.
class scripted_engine {
public:
    explicit scripted_engine(asio::io_context& io);
    scripted_engine(const scripted_engine&) = delete;
    scripted_engine& operator=(const scripted_engine&) = delete;
    ~scripted_engine();

    std::filesystem::path folder;  ///< goes with the object
    std::string socket() const { return (folder / "engine.sock").string(); }

    std::function<void()> program = [this] { exit(0); };
    void print(std::string bytes);                         ///< sends the bytes unchanged to the attached client
    void exit(int code);                                   ///< ends the container after its output was sent
    std::string mounted(const std::string& target) const;  ///< where a folder or file of the container comes from

    std::vector<std::string> requests;  ///< "POST /containers/create", without the version and the query
    json::object container;             ///< body of the last creation
    json::array left;                   ///< the answer to a list of containers
    std::string refusal;                ///< of a creation; empty: it works
    bool out_of_memory = false;
    bool memory_limit = true;
    std::size_t sent = 0;  ///< bytes of output that went into the connection

    bool was_asked(const std::string& what) const;

private:
    using stream = asio::local::stream_protocol::socket;

    awaitable<> accept();
    awaitable<> serve(std::shared_ptr<stream> connection);
    awaitable<> attach(std::shared_ptr<stream> connection);
    awaitable<std::pair<int, std::string>> answer(std::string method, std::string target, std::string body);

    asio::io_context& io_;
    asio::local::stream_protocol::acceptor acceptor_;
    event changed_;
    std::string output_;
    bool running_ = false;
    bool ended_ = false;
    int code_ = 0;
    task_group tasks_;
};

}  // namespace cmcp::test
