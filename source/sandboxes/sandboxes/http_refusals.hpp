#pragma once

#include "http/http_reply.hpp"

#include <exception>

namespace cmcp {

/// The answer to a refusal that an exception says: sandbox_error, file_error, or http_refusal. `missing`: the status of
/// a file_missing. Any other exception goes on.
http_reply reply_to_refusal(std::exception_ptr failure, int missing = 404);

}  // namespace cmcp
