#pragma once

#include "sealing/sealing.hpp"
#include "secrets/secret_record.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// Encrypts the values of secrets, as what leaves the machine is encrypted. A value belongs to its record: with other
/// hosts, another place or another owner it does not open.
class secret_sealer {
public:
    explicit secret_sealer(std::string_view key) : sealer_(key) {}

    std::string seal(const secret_record& record, std::string_view value) const;  ///< for secret_record::sealed
    std::string open(const secret_record& record) const;                          ///< throws secret_error

private:
    snapshots::chunk_sealer sealer_;
};

}  // namespace cmcp
