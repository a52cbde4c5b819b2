#pragma once

#include <cstdint>
#include <string>

namespace cmcp {

/// Bytes that several uses of the network may move together, such as those of all sandboxes of a principal.
class byte_account {
public:
    virtual ~byte_account() = default;

    /// Counts bytes that were moved. False: none are left; with 0 it only looks.
    virtual bool take(std::uint64_t bytes) = 0;

    virtual std::string refusal() = 0;  ///< once none are left: a sentence that says when there are some again
};

}  // namespace cmcp
