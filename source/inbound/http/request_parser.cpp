#include "http/request_parser.hpp"

#include "text/ascii.hpp"

#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t large_body = 256 << 10;

}  // namespace

request_parser::request_parser(std::size_t max_header)
{
    header_limit(static_cast<std::uint32_t>(max_header + 16));
    basic_parser::body_limit(boost::none);
}

void request_parser::on_request_impl(http::verb, string_view method, string_view target, int version, error_code&)
{
    // RFC 9112 section 3.2.2: a target in absolute form is taken as well, and its authority counts in place of Host.
    for (const std::string_view scheme : {"http://", "https://"}) {
        const std::string_view whole(target.data(), target.size());
        if (!equal_ignoring_case(whole.substr(0, scheme.size()), scheme)) continue;
        const auto end = std::min(whole.find_first_of("/?", scheme.size()), whole.size());
        authority_ = whole.substr(scheme.size(), end - scheme.size());
        target.remove_prefix(end);
        if (!target.starts_with('/')) into_->path = "/";
        break;
    }
    const auto mark = std::min(target.find('?'), target.size());
    into_->method.assign(method.data(), method.size());
    into_->path.append(target.data(), mark);
    if (mark != target.size()) into_->query.assign(target.data() + mark + 1, target.size() - mark - 1);
    into_->version = version;
}

// Name and value are parts of into_->head, the text that is parsed; the name is put into lower case there.
void request_parser::on_field_impl(http::field, string_view name, string_view value, error_code&)
{
    // Trailers are read over: nothing here has a use for them, and they must not pass for header fields.
    if (into_ == nullptr) return;
    const auto at = into_->head.begin() + (name.data() - into_->head.data());
    std::transform(at, at + static_cast<std::ptrdiff_t>(name.size()), at, to_lower);
    into_->fields.emplace_back(std::string_view(name.data(), name.size()),
                               std::string_view(value.data(), value.size()));
}

std::size_t request_parser::on_body_impl(string_view piece, error_code&)
{
    // A string that doubles is copied and held twice. Room that nothing has been written to takes no memory.
    const bool grows = body_.size() >= large_body && body_.capacity() - body_.size() < piece.size();
    if (grows && most_ != 0) body_.reserve(std::min<std::uint64_t>(content_length().value_or(most_), most_));
    body_.append(piece.data(), piece.size());
    return piece.size();
}

request_parser::state request_parser::put_header(std::string_view header, http_request& into)
{
    into_ = &into;
    into.head = header;
    into.fields.reserve(12);
    error_code error;
    put(boost::asio::buffer(into.head), error);
    into_ = nullptr;
    const auto reached = state_after(error);
    if (reached == state::too_large || reached == state::bad) return reached;
    if (!is_header_done()) return state::bad;
    if (authority_) take_authority(into);
    join_lists(into);
    into.keep_alive = keep_alive();
    eager(true);
    return reached;
}

void request_parser::take_authority(http_request& into) const
{
    bool named = false;
    for (auto& [name, value] : into.fields) {
        if (name != "host") continue;
        value = *authority_;
        named = true;
    }
    if (!named && into.version == 10) into.fields.emplace_back("host", *authority_);
}

bool request_parser::limit_body(std::size_t max_body)
{
    basic_parser::body_limit(max_body);
    most_ = max_body;
    return announced() <= max_body;
}

request_parser::state request_parser::put_body(std::string_view bytes, std::size_t& used)
{
    error_code error;
    used = put(boost::asio::buffer(bytes), error);
    return state_after(error);
}

request_parser::state request_parser::state_after(const error_code& error)
{
    if (error) why_ = error.message();
    if (error == http::error::body_limit || error == http::error::buffer_overflow) return state::too_large;
    if (error && error != http::error::need_more) return state::bad;
    return is_done() ? state::done : state::more;
}

std::uint64_t request_parser::announced() const { return content_length().value_or(0); }

std::string request_parser::take_body() { return std::exchange(body_, {}); }

}  // namespace cmcp
