#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cmcp {

/// What a Range header asks of a file (RFC 9110 section 14).
struct byte_range {
    enum class kind { whole, part, unsatisfiable };
    kind is = kind::whole;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};

/// Several ranges, other units and what is not understood mean the whole, as the RFC allows.
byte_range read_range(std::optional<std::string_view> header, std::uint64_t size);

}  // namespace cmcp
