#include "text/time_text.hpp"
#include "web/fetch.hpp"

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/error.hpp>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;

void fetch::timed_out() const
{
    std::string where = " " + at_.who.text();
    if (phase_ == "reading")
        where = " the page from" + where + ": " + std::to_string(reply_.received) + " bytes had come";
    if (phase_ == "waiting") where = " for" + where + " to answer: it accepted the connection and sent no whole header";
    if (phase_ == "connecting") where = " to" + where;
    if (phase_ == "TLS") where = ": the handshake with" + where + " did not end";
    throw fetch_error("timeout", "Timed out after " + seconds_text(asked_.timeout) + " (WEB_TIMEOUT_DEFAULT) while " +
                                     (phase_ == "TLS" ? "securing the connection (TLS)" : phase_) + where + ".");
}

void fetch::fail(const error_code& failure) const
{
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    const std::string who = at_.origin();
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
        throw fetch_error("bad_answer", who + " sent a header of more than 64 KiB; it was cut off.");
    const bool ended = failure == http::error::partial_message || failure == asio::error::connection_reset ||
                       failure == boost::asio::ssl::error::stream_truncated;
    if (failure == http::error::end_of_stream || (ended && !parser_->is_header_done()))
        throw fetch_error("bad_answer", who + " closed the connection without a whole answer.");
    if (ended)
        throw fetch_error("bad_answer", "The page is truncated: " + who + " closed the connection after " +
                                            std::to_string(reply_.received) + " bytes" +
                                            (expected_ != 0 ? " of " + std::to_string(expected_) : "") + ".");
    throw fetch_error("bad_answer", who + " sent no valid HTTP answer: " + failure.message() + ".");
}

}  // namespace cmcp
