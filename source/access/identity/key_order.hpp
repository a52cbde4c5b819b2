#pragma once

#include "config/principal_limits.hpp"
#include "identity/identity_store.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// A key as somebody wants it, in words.
struct key_order {
    std::string principal{};
    std::string scopes = scope_set::ordinary().text();
    std::string profile{};
    std::string networks{};
    std::string lasts{};  ///< "90d"; empty: without end
    std::string note{};
    std::vector<std::string> limits{};  ///< of the principal, as "runs=2"
};

/// Throws std::invalid_argument: the name is that of a folder, and stands in logs.
void check_principal_name(const std::string& name);

/// The same for a key or a link: names that begin with oauth- are those of subjects that nobody has linked.
void check_new_name(const std::string& name);

std::vector<own_limit> parse_limits(const std::vector<std::string>& words);  ///< throws std::invalid_argument

/// A key that was made: its text is known here and nowhere else.
struct new_key {
    api_key key;
    key_record record;
};

/// Makes a key and the limits of its principal. Throws std::invalid_argument with a sentence; then nothing was made.
new_key make_key(identity_store& store, const key_order& wanted, double now);

/// Another secret with the same rights.
new_key make_key_like(identity_store& store, key_record like, double now);

/// Without the digest; times in ISO 8601, null where there is none.
json::object describe(const key_record& key);

}  // namespace cmcp
