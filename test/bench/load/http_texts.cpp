#include "load/http_texts.hpp"

namespace cmcp::load {

namespace {

std::string begin(const load_options& options, const server_address& to, std::string_view method, std::string_view path)
{
    std::string text;
    text.reserve(1024);
    text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(to.authority());
    text.append("\r\n");
    for (const auto& field : options.headers) text.append(field).append("\r\n");
    return text;
}

}  // namespace

std::string get_text(const load_options& options, const server_address& to, std::string_view path,
                     std::string_view accept, std::string_view fields)
{
    auto text = begin(options, to, "GET", path);
    return text.append("Accept: ").append(accept).append("\r\n").append(fields).append("\r\n");
}

std::string post_text(const load_options& options, const server_address& to, std::string_view path,
                      std::string_view fields, std::string_view body)
{
    auto text = begin(options, to, "POST", path);
    text.append("Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n").append(fields);
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return text;
}

}  // namespace cmcp::load
