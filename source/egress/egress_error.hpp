#pragma once

#include <stdexcept>
#include <string>

namespace cmcp {

/// A connection that the guard did not make. what() is a sentence for the caller that names host and reason.
struct egress_error : std::runtime_error {
    enum class kind { refused, unresolved, unreachable, timeout, busy, bytes };

    egress_error(kind what_kind, std::string decided_by, const std::string& sentence)
        : std::runtime_error(sentence), is(what_kind), rule(std::move(decided_by))
    {
    }

    kind is;
    std::string rule;  ///< as in egress_refusal
};

}  // namespace cmcp
