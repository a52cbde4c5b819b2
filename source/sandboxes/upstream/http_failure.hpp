#pragma once

#include "upstream/upstream_problem.hpp"

namespace cmcp {

/// An answer with an HTTP status that is an error.
struct http_failure : upstream_problem {
    http_failure(unsigned http_status, const std::string& sentence) : upstream_problem(sentence), status(http_status) {}

    unsigned status;
};

/// Whether an answer with this status may be that of a server which speaks other revisions.
inline bool may_be_other_era(unsigned status)
{
    return status < 500 && status != 401 && status != 403 && status != 429;
}

}  // namespace cmcp
