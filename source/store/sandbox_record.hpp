#pragma once

#include <cstdint>
#include <string>

namespace cmcp {

/// What is kept of a sandbox. Times are seconds since 1970.
struct sandbox_record {
    std::string id;       ///< sbx_<node>_<32 hex>
    std::string owner;    ///< principal; empty: the default caller
    std::string session;  ///< digest of the session that made it; empty: made without one
    std::string name;     ///< unique among the owner's
    std::string image;
    std::string status = "running";  ///< running or stopped
    double created = 0;
    double last_used = 0;
    std::uint64_t disk = 0;  ///< bytes, as last measured
};

/// A copy of a workspace to go back to.
struct snapshot_record {
    std::string id;  ///< snp_<node>_<32 hex>
    std::string owner;
    std::string sandbox;
    std::string name;
    double created = 0;
    std::uint64_t disk = 0;
};

}  // namespace cmcp
