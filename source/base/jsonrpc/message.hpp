#pragma once

#include "jsonrpc/json.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cmcp::jsonrpc {

/// Where a request comes from, as its transport knows it.
struct request_origin {
    std::string credential;  ///< as login::credential: no secret
    std::string address;     ///< of the client
};

/// The names of a request in the log and the audit; not part of the message.
struct request_ids {
    std::string own;        ///< ours: in X-Request-Id, error sentences, spans and each line of the log; empty: none yet
    std::string of_client;  ///< X-Request-Id as the client sent it; empty: it sent none that is well-formed
    std::shared_ptr<const request_origin> from{};  ///< shared by the requests of a connection; null: unknown
};

struct request {
    json::value id;  ///< string or integer
    std::string method;
    json::object params;
    request_ids ids{};
    std::shared_ptr<const rpc_error> refusal{};  ///< a member of a batch that is no message: the answer to it
    bool is_long = false;                        ///< its message was: work over its params is none for the io thread
    std::string digest{};  ///< of params.arguments, as canonical_digest() makes it; empty: not made yet
};

struct notification {
    std::string method;
    json::object params;
};

/// The peer's answer to a request of ours.
struct response {
    json::value id;
    json::value result;  ///< null when it is an error
    std::optional<json::object> error;
};

using message = std::variant<request, notification, response>;

/// The messages of an HTTP body or a line of stdio.
struct payload {
    bool batch = false;
    std::vector<message> messages;
};

struct decode_limits {
    std::size_t depth = 64;
    std::size_t batch = 64;
    json_bounds bounds{};  ///< of long texts, but for the depth; a short text has no room for as much
    bool digests = false;  ///< requests of long texts get theirs
};

/// From this many bytes on, text of a caller is work for the pool.
inline constexpr std::size_t longest_on_loop = 64 * 1024;

/// The error to send, and the id to send it under, as far as decode() could read it (else null).
struct decode_error : rpc_error {
    decode_error(int error_code, const std::string& sentence, json::value request_id)
        : rpc_error(error_code, sentence), id(std::move(request_id))
    {
    }

    json::value id;
};

/// Decodes text into messages; a byte order mark in front is read over. A bad member of a batch does not take the
/// others with it: it is a request with a refusal, whose id may be null. Throws decode_error: parse_error (not JSON,
/// too deep, not UTF-8), invalid_request (not a JSON-RPC 2.0 message; the sentence names the offending member).
payload decode(std::string_view text, const decode_limits& limits);

/// The same of a long text, slice by slice, for another thread than the io thread.
class message_decoder {
public:
    message_decoder(std::string text, const decode_limits& limits);

    /// Decodes on until about `until`; nothing where there is more to do. Throws decode_error.
    std::optional<payload> decode_until(std::chrono::steady_clock::time_point until);

private:
    std::string text_;
    decode_limits limits_;
    json_reader reader_;
    bool begun_ = false;
};

std::string encode_result(const json::value& id, const json::object& result);
std::string encode_error(const json::value& id, const rpc_error& error);  ///< id null when it could not be read
std::string encode_request(const json::value& id, std::string_view method, const json::object& params);
std::string encode_notification(std::string_view method, const json::object& params);

}  // namespace cmcp::jsonrpc
