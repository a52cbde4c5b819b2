#pragma once

#include "async/asio.hpp"
#include "engine/engine_options.hpp"
#include "jsonrpc/json.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::engine {

/// An answer of the engine.
struct engine_answer {
    int status = 0;
    std::string body;
};

/// A connection to an engine's Unix socket (HTTP/1.1), for one request or one stream of bytes.
/// Operations throw boost::system::system_error when the connection fails.
class engine_connection {
public:
    explicit engine_connection(asio::any_io_executor executor) : socket_(std::move(executor)) {}

    /// Connects, sends a request with a JSON body (empty: none) and reads the whole answer, at most 16 MiB. `stream`
    /// asks for the connection itself: what follows an answer of 101 or 200 is then read by read_some().
    awaitable<engine_answer> ask(std::string path, std::string method, std::string target, std::string body,
                                 bool stream);

    /// The next bytes of the stream; empty at its end.
    awaitable<std::string> read_some();

private:
    asio::local::stream_protocol::socket socket_;
    boost::beast::flat_buffer buffer_{64 * 1024};
};

/// Facts about the engine itself.
struct engine_facts {
    std::string name;  ///< Podman or Docker
    std::string version;
    std::string runtime;  ///< its default
    std::string cgroup_version;
    bool podman = false;
    bool rootless = false;
    bool memory_limit = false;  ///< it can limit memory
    bool process_limit = false;
};

/// Facts about an image.
struct image_facts {
    std::vector<std::string> volumes;  ///< folders that would be writable
};

struct listed_container {
    std::string id;
    std::map<std::string, std::string> labels;
};

/// How a container stands.
struct container_state {
    bool running = false;
    bool out_of_memory = false;
    int exit_code = -1;
    std::string error;
};

/// The Engine API (version 1.41: Docker 20.10, Podman 3 and later) as far as it is needed here. Every call is a
/// connection of its own. Throws engine_error with a sentence, operation_aborted when cancelled.
class engine_client {
public:
    engine_client(asio::any_io_executor executor, engine_address where)
        : executor_(std::move(executor)), where_(std::move(where))
    {
    }

    awaitable<engine_facts> facts();
    awaitable<std::optional<image_facts>> image(std::string name);  ///< nothing: the engine does not have it

    awaitable<std::string> create(json::object container);                 ///< its id
    awaitable<std::unique_ptr<engine_connection>> attach(std::string id);  ///< its output from the start on
    awaitable<> start(std::string id);
    awaitable<int> wait(std::string id);  ///< until it has ended; its exit code
    awaitable<container_state> inspect(std::string id);
    awaitable<> kill(std::string id);    ///< one that does not run: nothing happens
    awaitable<> remove(std::string id);  ///< running or not; one that is gone: nothing happens

    /// The most memory that it had so far, bytes; 0: the engine does not tell.
    awaitable<std::uint64_t> peak_memory(std::string id);

    /// The containers, running or not, that have all these labels ("name=value").
    awaitable<std::vector<listed_container>> list(std::vector<std::string> labels);

    const engine_address& where() const { return where_; }

private:
    awaitable<engine_answer> exchange(std::string method, std::string target, std::string body);
    awaitable<engine_answer> ask(std::string method, std::string target, std::string body = {}, bool forever = false);
    awaitable<std::unique_ptr<engine_connection>> open_stream(std::string target);

    asio::any_io_executor executor_;
    engine_address where_;
};

}  // namespace cmcp::engine
