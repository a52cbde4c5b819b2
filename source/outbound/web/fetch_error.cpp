#include "web/fetch_error.hpp"

#include "text/time_text.hpp"

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/error.hpp>

namespace cmcp {

namespace {

std::string reason_of(egress_error::kind kind)
{
    constexpr const char* reasons[] = {"refused", "unresolved", "unreachable", "timeout", "busy", "too_large"};
    return reasons[static_cast<int>(kind)];
}

}  // namespace

fetch_error::fetch_error(const egress_error& refusal) : fetch_error(reason_of(refusal.is), refusal.what()) {}

fetch_error fetch_timeout(const std::string& phase, const std::string& host, std::uint64_t received,
                          std::chrono::milliseconds limit, std::string_view setting)
{
    std::string where = " " + host;
    if (phase == "reading") where = " the page from" + where + ": " + std::to_string(received) + " bytes had come";
    if (phase == "waiting") where = " for" + where + " to answer: it accepted the connection and sent no whole header";
    if (phase == "connecting") where = " to" + where;
    if (phase == "TLS") where = ": the handshake with" + where + " did not end";
    return {"timeout", "Timed out after " + seconds_text(limit) + " (" + std::string(setting) + ") while " +
                           (phase == "TLS" ? "securing the connection (TLS)" : phase) + where + "."};
}

fetch_error bad_answer(const boost::system::error_code& failure, const std::string& origin, bool header_came,
                       std::uint64_t received, std::uint64_t expected)
{
    using boost::beast::http::error;
    const char* const reason = "bad_answer";
    if (failure == error::header_limit || failure == error::buffer_overflow)
        return {reason, origin + " sent a header of more than 64 KiB; it was cut off."};
    const bool ended = failure == error::partial_message || failure == asio::error::connection_reset ||
                       failure == asio::ssl::error::stream_truncated;
    if (failure == error::end_of_stream || (ended && !header_came))
        return {reason, origin + " closed the connection without a whole answer."};
    if (ended)
        return {reason, "The page is truncated: " + origin + " closed the connection after " +
                            std::to_string(received) + " bytes" +
                            (expected != 0 ? " of " + std::to_string(expected) : "") + "."};
    return {reason, origin + " sent no valid HTTP answer: " + failure.message() + "."};
}

}  // namespace cmcp
