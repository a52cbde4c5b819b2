#include "http/request_parser.hpp"

#include "http/growing_body.hpp"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include <utility>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;

struct request_parser::implementation {
    http::request_parser<growing_body> beast;
};

namespace {

template <class Text>
std::string to_text(const Text& text)
{
    return std::string(text.data(), text.size());
}

template <class Header>
void take_header(const Header& header, http_request& into)
{
    auto target = to_text(header.target());
    auto mark = target.find('?');
    into.method = to_text(header.method_string());
    into.path = target.substr(0, mark);
    into.query = mark == std::string::npos ? std::string() : target.substr(mark + 1);
    into.version = static_cast<int>(header.version());
    for (const auto& field : header)
        into.fields.emplace_back(lower_case(to_text(field.name_string())), to_text(field.value()));
}

bool over_limit(error_code error)
{
    return error == http::error::body_limit || error == http::error::buffer_overflow;
}

}  // namespace

request_parser::request_parser(std::size_t max_header) : self_(std::make_unique<implementation>())
{
    self_->beast.header_limit(static_cast<std::uint32_t>(max_header + 16));
    self_->beast.body_limit(boost::none);
}

request_parser::request_parser(request_parser&&) noexcept = default;

request_parser::~request_parser() = default;

request_parser::state request_parser::put_header(std::string_view header, http_request& into)
{
    auto& beast = self_->beast;
    error_code error;
    beast.put(boost::asio::buffer(header), error);
    why_ = error.message();
    if (over_limit(error)) return state::too_large;
    if ((error && error != http::error::need_more) || !beast.is_header_done()) return state::bad;
    take_header(beast.get().base(), into);
    into.keep_alive = beast.keep_alive();
    beast.eager(true);
    return beast.is_done() ? state::done : state::more;
}

bool request_parser::limit_body(std::size_t max_body)
{
    self_->beast.body_limit(max_body);
    return announced() <= max_body;
}

request_parser::state request_parser::put_body(std::string_view bytes, std::size_t& used)
{
    error_code error;
    used = self_->beast.put(boost::asio::buffer(bytes), error);
    why_ = error.message();
    if (over_limit(error)) return state::too_large;
    if (error && error != http::error::need_more) return state::bad;
    return self_->beast.is_done() ? state::done : state::more;
}

std::uint64_t request_parser::announced() const { return self_->beast.content_length().value_or(0); }

std::size_t request_parser::body_size() const { return self_->beast.get().body().size(); }

std::string request_parser::take_body() { return std::exchange(self_->beast.get().body(), {}); }

}  // namespace cmcp
