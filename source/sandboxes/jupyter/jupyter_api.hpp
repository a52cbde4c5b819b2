#pragma once

#include "http/exchange.hpp"
#include "http/websocket.hpp"
#include "jupyter/contents.hpp"
#include "jupyter/kernel_register.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {
class router;
struct http_settings;
}  // namespace cmcp

namespace cmcp::jupyter {

/// The REST API of a Jupyter server over sandboxes and their kernels: paths, methods and models as jupyter_server has
/// them.
class jupyter_api {
public:
    /// All must outlive this.
    jupyter_api(const http_settings& config, asio::any_io_executor executor, kernel_manager& kernels,
                sandbox_manager& sandboxes, sandbox_files& files, blocking_pool& pool)
        : config_(config),
          pool_(pool),
          folders_(sandboxes),
          uploads_(executor, files, longest_pause),
          contents_(folders_, files, uploads_, pool),
          kernels_(executor, kernels, folders_, pool)
    {
    }

    /// A request of /api or below it. A kernel's channels become a WebSocket among `sockets`.
    awaitable<> serve(exchange& x, websocket_register& sockets);
    awaitable<> stop();

private:
    struct call;

    awaitable<http_reply> answer(call from);
    awaitable<http_reply> answer_refusals(call from);
    awaitable<http_reply> about_kernels(call from);
    awaitable<http_reply> about_kernel(call from, std::string id);
    awaitable<http_reply> about_sessions(call from);
    awaitable<http_reply> about_session(call from, std::string id);
    awaitable<http_reply> change_session(call from, std::string id);
    awaitable<http_reply> about_contents(call from);
    awaitable<std::size_t> segments_of_checkpoints(call& from);  // 0: the path is that of a file
    awaitable<http_reply> about_checkpoints(call from, std::string path, std::string id);
    http_reply about_server(const call& from);
    awaitable<std::shared_ptr<kernel>> kernel_for(caller who, json::object wish, std::string path);
    awaitable<> open_channels(exchange& x, websocket_register& sockets, std::string id);

    static constexpr std::chrono::minutes longest_pause{10};  // between the chunks of a file

    const http_settings& config_;
    blocking_pool& pool_;
    folders folders_;
    chunked_uploads uploads_;
    contents contents_;
    kernel_register kernels_;
    std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
};

/// /api and below. It is described by Jupyter, not in /openapi.json. Both must outlive the routes.
void add_jupyter_routes(router& routes, jupyter_api& kernels, websocket_register& sockets);

}  // namespace cmcp::jupyter
