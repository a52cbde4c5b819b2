#pragma once

#include "http/http_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A file that whoever has the link may read, without a token.
struct signed_file {
    std::string sandbox;       ///< id
    std::string path;          ///< as the link's file_path has it, decoded
    std::int64_t expires = 0;  ///< seconds since 1970
};

/// The end of the link's query, "&expires=…&signature=…"; `named`: with the owner, "&as=…".
std::string signed_query(const signed_file& of, std::string_view owner, std::string_view key, bool named);

/// The owner that the link names, whether it is signed or not.
std::optional<std::string> owner_of_link(const http_request& request);

/// Whether the request's query bears a signature at all.
bool bears_signature(const http_request& request);

/// Whether the request's query is signed so for this owner, and `now` (seconds since 1970) is not past its end.
bool is_signed_for(const http_request& request, std::string_view owner, std::string_view key, std::int64_t now);

}  // namespace cmcp
