#include "sandboxes/http_refusals.hpp"

#include "files/file_error.hpp"
#include "http/http_refusal.hpp"
#include "runs/sandbox_error.hpp"

namespace cmcp {

namespace {

int status_of(const sandbox_error& refused)
{
    if (refused.type == "NotFound") return 404;
    if (refused.type == "QuotaExceeded") return 413;
    if (refused.type == "SnapshotStoreError" || refused.type == "NodeCutOff" || refused.type == "NodeUnreachable")
        return 503;
    return 400;
}

http_reply plain_reply(std::exception_ptr failure, int missing)
try {
    std::rethrow_exception(std::move(failure));
} catch (const http_refusal& refused) {
    return refused.reply();
} catch (const sandbox_error& refused) {
    return error_reply(status_of(refused), refused.what(), refused.type);
} catch (const file_missing& refused) {
    return error_reply(missing, refused.what());
} catch (const file_error& refused) {
    return error_reply(400, refused.what());
}

}  // namespace

http_reply reply_to_refusal(std::exception_ptr failure, int missing)
{
    auto reply = plain_reply(std::move(failure), missing);
    if (reply.status == 400 && reply.problem_type.empty()) reply.problem_type = "InvalidArgument";
    if (reply.status == 503) reply.with("Retry-After", "5");
    return reply;
}

}  // namespace cmcp
