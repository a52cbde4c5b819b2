#pragma once

#include "jsonrpc/rpc_error.hpp"

namespace cmcp::jsonrpc {

/// What decode() throws: the error to send and the id to send it under, as far as it could be read (else null).
struct decode_error : rpc_error {
    decode_error(int error_code, const std::string& sentence, json::value request_id)
        : rpc_error(error_code, sentence), id(std::move(request_id))
    {
    }

    json::value id;
};

}  // namespace cmcp::jsonrpc
