#pragma once

#include "http/client_socket.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// One request and the way to answer it: a whole reply, or a stream in chunks. Lives on its connection.
class exchange {
public:
    using fields = std::vector<std::pair<std::string, std::string>>;

    /// `shared`: fields that every answer to this request carries (CORS).
    exchange(client_socket& peer, http_request& asked, fields shared);

    http_request& request() { return request_; }
    asio::any_io_executor executor() { return peer_.executor(); }

    /// Each returns false when the peer is gone.
    awaitable<bool> reply(http_reply answer);
    awaitable<bool> begin_stream(std::string_view content_type, fields extra, std::string first);
    awaitable<bool> write_chunk(std::string_view data);
    awaitable<bool> end_stream();

    /// An answer whose length is known and whose body comes piece by piece: exactly `length` bytes by write_body().
    awaitable<bool> begin_sized(int status, std::string_view content_type, fields extra, std::uint64_t length);
    awaitable<bool> write_body(std::string_view data);

    /// Frees what only the reading of requests needs: a stream may last for hours.
    void settle_as_stream();

    void watch(std::function<void()> on_gone) { peer_.watch(std::move(on_gone)); }
    void unwatch() { peer_.unwatch(); }
    bool gone() const { return peer_.gone(); }

    int status() const { return status_; }              ///< sent; 0: nothing yet
    bool streaming() const { return streaming_; }
    bool streamed() const { return streamed_; }         ///< the answer was or is a stream
    bool can_go_on() const { return !close_ && !streaming_ && owed_ == 0 && status_ != 0 && !peer_.gone(); }
    void close_after() { close_ = true; }

private:
    bool chunked() const { return request_.version >= 11; }
    std::string chunk_head(std::string_view data) const;
    std::string_view chunk_end(std::string_view data) const;

    client_socket& peer_;
    http_request& request_;
    fields shared_;
    int status_ = 0;
    bool streaming_ = false;
    bool streamed_ = false;
    bool close_ = false;
    std::uint64_t owed_ = 0;            // of a sized answer
};

/// Answers with `refusal`: for routes that choose between coroutines.
awaitable<> refuse(exchange& x, http_reply refusal);

}  // namespace cmcp
