#pragma once

#include "store/database.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace cmcp {

/// A session of the older revisions, as another process of the server needs it to go on with it. Times are seconds
/// since 1970.
struct session_record {
    std::string digest;     ///< SHA-256 of its id, which is a secret, in hex
    std::string principal;  ///< empty: nobody has a name
    std::string address;    ///< of the client that opened it
    std::string profile;    ///< of tools; empty: none
    std::string state;      ///< of the protocol, as JSON (server_core::state_of())
    double created = 0;
    double last_used = 0;
    std::uint64_t starts = 0;  ///< how often a process went on with it

    auto columns() { return std::tie(digest, principal, address, profile, state, created, last_used, starts); }
};

/// The sessions that outlive the server's process, in a file of mode 0600. Throws database_error.
class session_records {
public:
    explicit session_records(const std::filesystem::path& file);

    std::vector<session_record> all();  ///< longest unused first

    /// In one transaction: adds or replaces `changed`, then forgets the sessions with the digests `ended`.
    void write(const std::vector<session_record>& changed, const std::vector<std::string>& ended);

private:
    database db_;
};

}  // namespace cmcp
