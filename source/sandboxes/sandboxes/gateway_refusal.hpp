#pragma once

#include "files/file_error.hpp"
#include "http/file_gateway.hpp"
#include "runs/sandbox_error.hpp"

namespace cmcp {

inline int status_of(const sandbox_error& refused)
{
    if (refused.type == "NotFound") return 404;
    if (refused.type == "QuotaExceeded") return 413;
    if (refused.type == "SnapshotStoreError") return 503;
    return 400;
}

/// Called where an exception is handled: a refusal goes on as the gateway's, a file_error with the status `otherwise`.
[[noreturn]] inline void pass_on_as_gateway_error(int otherwise, int missing)
try {
    throw;
} catch (const sandbox_error& refused) {
    throw gateway_error(status_of(refused), refused.what(), refused.type);
} catch (const file_missing& refused) {
    throw gateway_error(missing, refused.what());
} catch (const file_error& refused) {
    throw gateway_error(otherwise, refused.what());
}

}  // namespace cmcp
