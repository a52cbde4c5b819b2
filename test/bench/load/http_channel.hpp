#pragma once

#include "load/response_parser.hpp"
#include "load/wire.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cmcp::load {

/// HTTP/1.1 requests one after another over a connection that is opened when it is needed.
class http_channel : private wire::user {
public:
    struct user {
        virtual ~user() = default;
        virtual void answer_head(http_channel& from, const response_head& head) = 0;
        virtual void answer_body(http_channel& from, std::string_view piece) = 0;
        virtual void answer_end(http_channel& from) = 0;
        virtual void answer_lost(http_channel& from, const std::string& reason) = 0;  ///< no answer will come
    };

    http_channel(asio::any_io_executor executor, traffic& counted, user& owner);
    ~http_channel() override;

    /// Not before the last answer has ended. Another server than before is reached after close() only.
    void request(route& to, std::string text, std::size_t rate = 0);
    void close();
    bool waiting() const { return waiting_; }

private:
    void wire_open() override;
    void wire_bytes(std::string_view bytes) override;
    void wire_lost(const std::string& reason) override;
    void end();

    asio::any_io_executor executor_;
    traffic& counted_;
    user& user_;
    std::shared_ptr<wire> wire_;
    response_parser parser_;
    std::string unsent_;
    bool waiting_ = false;
    bool close_after_ = false;
};

}  // namespace cmcp::load
