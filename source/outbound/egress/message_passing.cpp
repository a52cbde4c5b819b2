#include "egress/message_passing.hpp"

#include <string>

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

std::string header_text(const boost::beast::http::response_header<>& head)
{
    std::string text = head.version() == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    text.append(std::to_string(head.result_int())).append(" ").append(head.reason()).append("\r\n");
    for (const auto& field : head) text.append(field.name_string()).append(": ").append(field.value()).append("\r\n");
    return text + "\r\n";
}

std::string guards_answer(unsigned status, const std::string& rule, const std::string& sentence)
{
    namespace http = boost::beast::http;
    http::response_header<> head;
    head.version(11);
    head.result(status);
    head.set(http::field::content_type, "text/plain; charset=utf-8");
    head.set("X-Egress-Rule", rule);
    head.set(http::field::connection, "close");
    head.set(http::field::content_length, std::to_string(sentence.size() + 1));
    return header_text(head) + sentence + '\n';
}

}  // namespace cmcp
