#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// Names and values, of a header or of a query.
using name_values = std::vector<std::pair<std::string, std::string>>;

/// An access key at an S3-compatible storage. Only `key_id` and `session_token` are sent.
struct aws_credentials {
    std::string key_id, secret;
    std::string session_token{};  ///< empty: none
};

/// A request as it is signed.
struct aws_request {
    std::string method = "GET";
    std::string path = "/";      ///< percent-encoded as by aws_encoded()
    name_values query{};         ///< not encoded
    name_values headers{};       ///< all of them are signed; Host is among them
    std::string payload_hash{};  ///< SHA-256 of the body, 64 lower-case digits
};

/// AWS Signature Version 4 for S3 by header fields: x-amz-date, x-amz-content-sha256, x-amz-security-token where there
/// is a session token, and Authorization. They belong to the request beside its own.
name_values aws_signature(const aws_request& request, const aws_credentials& by, const std::string& region,
                          std::time_t when);

/// Percent-encoded as AWS has it: all bytes but A-Z, a-z, 0-9, - . _ ~ are, in a path without the slash.
std::string aws_encoded(std::string_view text);
std::string aws_encoded_path(std::string_view text);

/// The query as it is signed and sent: encoded, sorted, without the question mark.
std::string aws_query(const name_values& query);

}  // namespace cmcp
