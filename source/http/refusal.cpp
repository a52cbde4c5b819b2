#include "http/refusal.hpp"

#include "jsonrpc/message.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp {

std::string_view refusal_type_of(int status)
{
    switch (status) {
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "NotFound";
        case 405:
            return "MethodNotAllowed";
        case 406:
            return "NotAcceptable";
        case 408:
            return "TimedOut";
        case 409:
            return "StateError";
        case 413:
        case 414:
        case 431:
            return "TooLarge";
        case 415:
            return "UnsupportedMediaType";
        case 416:
            return "RangeNotSatisfiable";
        case 429:
        case 503:
            return "Busy";
        case 507:
            return "QuotaExceeded";
        default:
            return status == 500 ? "ServerError" : "InvalidRequest";
    }
}

std::string refusal_body(const http_reply& refused, bool rpc_errors)
{
    if (rpc_errors) return jsonrpc::encode_error(nullptr, rpc_error(rpc_code::server_error, refused.problem));
    json::object body;
    body["error"] = refused.problem;
    body["error_type"] =
        refused.problem_type.empty() ? refusal_type_of(refused.status) : std::string_view(refused.problem_type);
    return jsonrpc::write_json(body);
}

}  // namespace cmcp
