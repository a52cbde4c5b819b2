#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "upstream/upstream_problem.hpp"
#include "upstream/upstream_progress.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// An answer that is a JSON-RPC error.
struct upstream_refusal : upstream_problem {
    upstream_refusal(int error_code, const std::string& sentence) : upstream_problem(sentence), code(error_code) {}

    int code;
};

/// A request to an upstream server.
struct upstream_request {
    std::string method;
    json::object params{};
    std::chrono::milliseconds timeout{60'000};
    upstream_progress_handler on_progress{};
    std::vector<std::pair<std::string, std::string>> fields{};  ///< of the header, over HTTP
};

/// The way to one upstream server. It opens with the first request, and again after it ended. Io thread only.
class upstream_link {
public:
    static constexpr std::size_t longest_message = 16 << 20;  ///< bytes

    virtual ~upstream_link() = default;

    /// The result. Throws upstream_problem, whose what() is the end of a sentence that begins with the server. When the
    /// time is over or the coroutine is cancelled, the server is told so.
    virtual awaitable<json::object> ask(upstream_request wanted) = 0;

    virtual std::string protocol() const = 0;  ///< the revision that was agreed on; empty: none yet
    virtual bool is_open() const = 0;
    virtual awaitable<> close() = 0;  ///< for good

    /// Called when the server says that its tools changed.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

protected:
    void tell_change() const
    {
        if (changed_) changed_();
    }

private:
    std::function<void()> changed_;
};

}  // namespace cmcp
