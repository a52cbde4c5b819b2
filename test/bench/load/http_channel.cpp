#include "load/http_channel.hpp"

#include <utility>

namespace cmcp::load {

http_channel::http_channel(asio::any_io_executor executor, traffic& counted, user& owner)
    : executor_(std::move(executor)),
      counted_(counted),
      user_(owner),
      parser_({[this](const response_head& head) {
                   close_after_ = head.close;
                   user_.answer_head(*this, head);
               },
               [this](std::string_view piece) { user_.answer_body(*this, piece); }, [this] { end(); }})
{
}

http_channel::~http_channel() { close(); }

void http_channel::request(route& to, std::string text, std::size_t rate)
{
    waiting_ = true;
    if (wire_ && wire_->connected()) return wire_->send(std::move(text));
    unsent_ = std::move(text);
    parser_.reset();  // the former connection may have left half an answer
    wire_ = std::make_shared<wire>(executor_, counted_);
    wire_->open(to.next(rate), *this);
}

void http_channel::close()
{
    if (wire_) wire_->close();
    wire_ = nullptr;
    waiting_ = false;
    unsent_ = {};
    parser_.reset();
}

void http_channel::wire_open()
{
    if (!unsent_.empty()) wire_->send(std::exchange(unsent_, {}));
}

void http_channel::wire_bytes(std::string_view bytes)
{
    auto wire_in_use = wire_;  // the user may close the channel in a callback
    if (!parser_.feed(bytes) && wire_in_use == wire_) wire_lost("not HTTP/1.1");
}

void http_channel::wire_lost(const std::string& reason)
{
    auto old = std::exchange(wire_, nullptr);
    if (old) old->close();
    parser_.closed();  // ends an answer without a length, after which the user may send the next request
    if (wire_ || !waiting_) return;
    close();
    user_.answer_lost(*this, reason);
}

void http_channel::end()
{
    waiting_ = false;
    if (close_after_) close();
    user_.answer_end(*this);
}

}  // namespace cmcp::load
