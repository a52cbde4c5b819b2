#include "http/request_parser.hpp"
#include "text/ascii.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

namespace {

constexpr std::size_t large_body = 256 << 10;

std::string to_text(string_view text) { return std::string(text.data(), text.size()); }

bool over_limit(error_code error) { return error == http::error::body_limit || error == http::error::buffer_overflow; }

}  // namespace

// Puts Beast's findings into the request, without a container of fields in between. The body takes memory for the bytes
// that have arrived, not for those that Content-Length announces.
struct request_parser::implementation final : http::basic_parser<true> {
    http_request* into = nullptr;  // until the header is done
    std::string body;
    std::size_t most = 0;  // of the body; 0: the body is taken away in parts

    void on_request_impl(http::verb, string_view method, string_view target, int version, error_code&) override
    {
        auto mark = target.find('?');
        into->method = to_text(method);
        into->path = to_text(target.substr(0, mark));
        into->query = mark == string_view::npos ? std::string() : to_text(target.substr(mark + 1));
        into->version = version;
    }

    void on_field_impl(http::field, string_view name, string_view value, error_code&) override
    {
        // Trailers are read over: nothing here has a use for them, and they must not pass for header fields.
        if (into == nullptr) return;
        into->fields.emplace_back(in_lower_case(name), std::string_view(value.data(), value.size()));
    }

    // Name and value are parts of into->head, the text that is parsed.
    std::string_view in_lower_case(string_view name)
    {
        auto at = into->head.begin() + (name.data() - into->head.data());
        std::transform(at, at + static_cast<std::ptrdiff_t>(name.size()), at, to_lower);
        return {name.data(), name.size()};
    }

    // Pure in the base from Boost 1.84 on.
    void on_trailer_field_impl(http::field, string_view, string_view, error_code&) {}

    void on_header_impl(error_code&) override { into = nullptr; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

    std::size_t on_body_impl(string_view piece, error_code&) override
    {
        if (body.size() >= large_body && body.capacity() - body.size() < piece.size()) make_room();
        body.append(piece.data(), piece.size());
        return piece.size();
    }

    // A string that doubles is copied and held twice. Room that nothing has been written to takes no memory.
    void make_room()
    {
        if (most != 0) body.reserve(std::min<std::uint64_t>(content_length().value_or(most), most));
    }

    std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code& error) override
    {
        return on_body_impl(piece, error);
    }

    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    void on_finish_impl(error_code&) override {}
};

request_parser::request_parser(std::size_t max_header) : self_(std::make_unique<implementation>())
{
    self_->header_limit(static_cast<std::uint32_t>(max_header + 16));
    self_->body_limit(boost::none);
}

request_parser::request_parser(request_parser&&) noexcept = default;

request_parser::~request_parser() = default;

request_parser::state request_parser::put_header(std::string_view header, http_request& into)
{
    self_->into = &into;
    into.head = header;
    into.fields.reserve(12);
    error_code error;
    self_->put(boost::asio::buffer(into.head), error);
    self_->into = nullptr;
    if (error) why_ = error.message();
    if (over_limit(error)) return state::too_large;
    if ((error && error != http::error::need_more) || !self_->is_header_done()) return state::bad;
    into.keep_alive = self_->keep_alive();
    self_->eager(true);
    return self_->is_done() ? state::done : state::more;
}

bool request_parser::limit_body(std::size_t max_body)
{
    self_->body_limit(max_body);
    self_->most = max_body;
    return announced() <= max_body;
}

request_parser::state request_parser::put_body(std::string_view bytes, std::size_t& used)
{
    error_code error;
    used = self_->put(boost::asio::buffer(bytes), error);
    if (error) why_ = error.message();
    if (over_limit(error)) return state::too_large;
    if (error && error != http::error::need_more) return state::bad;
    return self_->is_done() ? state::done : state::more;
}

std::uint64_t request_parser::announced() const { return self_->content_length().value_or(0); }

std::size_t request_parser::body_size() const { return self_->body.size(); }

std::string request_parser::take_body() { return std::exchange(self_->body, {}); }

}  // namespace cmcp
