#include "egress/message_passing.hpp"

namespace cmcp {

std::string bad_answer_sentence(const std::string& name, boost::system::error_code failure)
{
    namespace http = boost::beast::http;
    if (failure == http::error::end_of_stream) return name + " closed the connection without an answer.";
    if (failure == http::error::partial_message) return name + " closed the connection before its answer was whole.";
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
        return name + " sent a header of more than 64 KiB; it was cut off.";
    return name + " sent no valid HTTP answer: " + failure.message() + ".";
}

boost::beast::http::response<boost::beast::http::string_body> guards_answer(unsigned status, const std::string& rule,
                                                                            const std::string& sentence)
{
    namespace http = boost::beast::http;
    http::response<http::string_body> reply(static_cast<http::status>(status), 11);
    reply.set(http::field::content_type, "text/plain; charset=utf-8");
    reply.set("X-Egress-Rule", rule);
    reply.body() = sentence + "\n";
    reply.keep_alive(false);
    reply.prepare_payload();
    return reply;
}

}  // namespace cmcp
