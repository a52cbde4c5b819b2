#pragma once

#include <string>
#include <tuple>

namespace cmcp {

/// The store's row of a secret. Times are seconds since 1970.
struct secret_record {
    static constexpr const char* everybody = "*";  ///< in place of a principal

    std::string name;       ///< of the variable in which programs find its placeholder
    std::string principal;  ///< whose sandboxes have it; empty: the default caller's
    std::string sandbox;    ///< the one that has it; empty: all of the principal's
    std::string hosts;      ///< between commas
    std::string place;      ///< as secret_position::text()
    std::string sealed;     ///< the encrypted value in base64
    double created = 0;
    double used = 0;  ///< last, to the minute; 0: never

    auto columns() { return std::tie(name, principal, sandbox, hosts, place, sealed, created, used); }
};

}  // namespace cmcp
