#pragma once

#include <stdexcept>
#include <string>

namespace cmcp {

/// A refusal of the tools for sandboxes and jobs that the caller can correct; what() says what to do. `type` is for
/// programs: NotFound, NameTaken, ImageNotAllowed, ImageNotFound, ImageNotFetched, NotAvailable, QuotaExceeded,
/// StateError, InvalidArgument, Forbidden, Busy.
struct sandbox_error : std::runtime_error {
    sandbox_error(std::string kind, const std::string& sentence) : std::runtime_error(sentence), type(std::move(kind))
    {
    }
    std::string type;
};

}  // namespace cmcp
