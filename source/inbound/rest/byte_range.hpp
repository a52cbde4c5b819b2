#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cmcp {

/// The part of a file that a Range header names (RFC 9110 section 14).
struct byte_range {
    enum class kind { whole, part, unsatisfiable };
    kind is = kind::whole;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};

/// Several ranges, other units and malformed headers mean the whole, as the RFC allows.
byte_range read_range(std::optional<std::string_view> header, std::uint64_t size);

}  // namespace cmcp
