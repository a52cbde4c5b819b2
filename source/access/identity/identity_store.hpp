#pragma once

#include "identity/api_key.hpp"
#include "store/database.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cmcp {

/// A person or program of an authorization server that an administrator has given the name of a principal.
struct linked_subject {
    std::string issuer;
    std::string subject;
    std::string principal;

    auto columns() { return std::tie(issuer, subject, principal); }
};

/// A limit that an administrator gave a principal.
struct stored_limit {
    std::string principal;
    std::string name;  ///< of limit_names()
    std::uint64_t value = 0;
    double changed = 0;    ///< seconds since 1970; 0: by a version that did not note it
    bool cleared = false;  ///< it was taken back, so it does not count

    auto columns() { return std::tie(principal, name, value, changed, cleared); }
};

/// API keys, links and limits in <SANDBOX_ROOT>/identity.db. The server and its commands have it open at the same time;
/// a change of one is seen by the other with its next look. A call takes some ten microseconds. Throws database_error.
class identity_store {
public:
    explicit identity_store(const std::filesystem::path& file);

    static std::filesystem::path file_in(const std::filesystem::path& sandbox_root)
    {
        return sandbox_root / "identity.db";
    }

    /// Null where nothing was stored yet.
    static std::unique_ptr<identity_store> existing(const std::filesystem::path& sandbox_root);

    void add(const key_record& key);
    std::optional<key_record> find(std::string_view id);
    std::vector<key_record> keys();  ///< oldest first
    bool has_keys();                 ///< revoked ones, too: where the last one was revoked, nobody may come without
    bool revoke(std::string_view id, double now);
    void note_use(std::string_view id, double now);

    void link(const linked_subject& one);  ///< replaces an earlier link
    bool unlink(std::string_view issuer, std::string_view subject);
    std::string principal_of(std::string_view issuer, std::string_view subject);  ///< empty: nobody has linked it
    std::vector<linked_subject> links();

    void set_limit(const stored_limit& one);  ///< now, replaces an earlier value
    bool clear_limit(std::string_view principal, std::string_view name);
    std::vector<stored_limit> limits_of(std::string_view principal);
    std::vector<stored_limit> limits();

    std::vector<stored_limit> limit_changes();  ///< whose time was noted, also those that were taken back
    bool take_limit(const stored_limit& one);   ///< of another server; false: the same or a later change is here
    std::int64_t version();                     ///< changes with what others write

private:
    database db_;
};

}  // namespace cmcp
