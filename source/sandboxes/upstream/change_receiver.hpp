#pragma once

#include "text/sse_parser.hpp"
#include "upstream/link_messages.hpp"
#include "web/http_client.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Reads the stream on which a server says that something changed. Ends it with reply_complete where there is none, or
/// the server says more than it may. `messages` must outlive this.
class change_receiver : public body_receiver {
public:
    static constexpr std::size_t longest_event = 1 << 20;
    static constexpr std::size_t most_in_all = 16 << 20;

    explicit change_receiver(link_messages& messages);
    change_receiver(const change_receiver&) = delete;
    change_receiver& operator=(const change_receiver&) = delete;

    awaitable<> begin(fetch_head head, std::optional<std::uint64_t> length) override;
    awaitable<> receive(std::string_view piece) override;

    bool is_stream() const { return is_stream_; }  ///< the server has one

private:
    awaitable<> take(std::string message);

    link_messages& messages_;
    sse_parser events_;
    std::vector<std::string> said_;  // by the events of the latest piece
    bool is_stream_ = false;
    std::size_t received_ = 0;
};

}  // namespace cmcp
