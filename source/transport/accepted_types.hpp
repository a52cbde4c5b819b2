#pragma once

#include <optional>
#include <string_view>

namespace cmcp {

/// The types that a client's Accept header lets it be sent. Without the header, or with */*, both.
struct accepted_types {
    bool json = true;
    bool events = true;
};

accepted_types parse_accept(const std::optional<std::string_view>& header);

}  // namespace cmcp
