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

/// What is kept of a job. `state`: running, finished, killed, failed or lost.
struct job_record {
    std::string id;  ///< job_<node>_<32 hex>
    std::string owner;
    std::string sandbox;  ///< id; empty: a run in the caller's workspace
    std::string tool;
    std::string label;  ///< the beginning of what runs, for people
    std::string state = "running";
    double created = 0;
    double ended = 0;    ///< 0: not yet
    std::string result;  ///< JSON object of the tool; empty: not yet
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
