#pragma once

#include "http/http_request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// Beast's parser for a server. Pure. The bytes have passed raw_header.
class request_parser {
public:
    explicit request_parser(std::size_t max_header);
    request_parser(request_parser&&) noexcept;
    ~request_parser();

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

    /// `used` is how many bytes belonged to this request.
    state put_body(std::string_view bytes, std::size_t& used);

    std::uint64_t announced() const;  ///< bytes of the body by Content-Length; 0: none or chunked
    std::size_t body_size() const;
    std::string take_body();
    const std::string& why() const { return why_; }

private:
    struct implementation;
    std::unique_ptr<implementation> self_;
    std::string why_;
};

}  // namespace cmcp
