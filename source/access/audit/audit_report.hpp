#pragma once

#include "audit/chain.hpp"
#include "audit/chain_check.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::audit {

/// A head as it was published: from the log, or from the file of AUDIT_HEADS.
struct published_head {
    chain_position position;
    std::string where;  ///< "heads.log, line 3"
};

/// The result of a check of a whole audit, and the first record that is not as the server wrote it.
struct audit_report {
    struct broken_record {
        std::string file;
        chain_fault fault;
    };

    std::optional<broken_record> bad;
    std::uint64_t files = 0, retired = 0;  ///< files that are there, and that were removed as the oldest ones
    std::uint64_t first = 0;               ///< number of the first record that is there; 0: there is none
    chain_position last, sealed;           ///< the latest record, and the latest that is signed
    std::string sealed_at;                 ///< as the head tells
    std::string first_key, key;            ///< by which the audit begins, and that signs now
    std::uint64_t starts = 0, stops = 0;   ///< of servers
    std::uint64_t torn_lines = 0, torn_bytes = 0;
    std::uint64_t dropped = 0;      ///< records that the server could not keep
    std::uint64_t published = 0;    ///< published heads that are in the audit
    std::uint64_t not_checked = 0;  ///< published heads of records that were removed
};

struct report_options {
    std::string first_key{};  ///< the key by which the audit must begin; empty: any
    std::vector<published_head> heads{};
};

/// Checks each record of the audit in the folder. Reads it piece by piece. A server may go on writing meanwhile. Throws
/// audit_error where there is no audit that can be read.
audit_report check_audit(const std::filesystem::path& folder, report_options wanted = {});

/// The heads "<number>:<digest>" in any text, such as lines of the log. Throws audit_error.
std::vector<published_head> heads_in(const std::filesystem::path& file);

}  // namespace cmcp::audit
