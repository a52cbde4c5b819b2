#pragma once

#include "http/http_request.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Beast's parser for a server. Pure. The bytes have passed raw_header. The findings go into the request, without a
/// container of fields in between. The body takes memory for the bytes that have arrived, not for those that
/// Content-Length announces.
class request_parser final : private boost::beast::http::basic_parser<true> {
public:
    explicit request_parser(std::size_t max_header);

    enum class state {
        more,  ///< the body is not whole yet
        done,
        too_large,  ///< claims or has a body over the limit
        bad         ///< not HTTP/1.1; why() tells
    };

    /// `header` is a whole header up to its empty line; fills everything but the body.
    state put_header(std::string_view header, http_request& into);

    /// After the header. Without a limit a body of any size is taken. False: the header announces a longer body.
    bool limit_body(std::size_t max_body);
    std::size_t most() const { return most_; }  ///< bytes of the body; 0: any number

    /// `used` is how many bytes belonged to this request.
    state put_body(std::string_view bytes, std::size_t& used);

    std::uint64_t announced() const;  ///< bytes of the body by Content-Length; 0: none or chunked
    std::size_t body_size() const { return body_.size(); }
    std::string take_body();
    const std::string& why() const { return why_; }

private:
    using error_code = boost::system::error_code;
    using string_view = boost::beast::string_view;

    void on_request_impl(boost::beast::http::verb, string_view method, string_view target, int version,
                         error_code&) override;
    void on_field_impl(boost::beast::http::field, string_view name, string_view value, error_code&) override;
    void on_trailer_field_impl(boost::beast::http::field, string_view, string_view, error_code&) {
    }  // pure from 1.84 on
    void on_header_impl(error_code&) override { into_ = nullptr; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view piece, error_code&) override;
    std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code& error) override
    {
        return on_body_impl(piece, error);
    }
    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    void on_finish_impl(error_code&) override {}

    state state_after(const error_code& error);
    void take_authority(http_request& into) const;

    http_request* into_ = nullptr;               // until the header is done
    std::optional<std::string_view> authority_;  // of the target, a part of into_->head
    std::string body_;
    std::size_t most_ = 0;  // of the body; 0: the body is taken away in parts
    std::string why_;
};

}  // namespace cmcp
