#pragma once

#include "jsonrpc/json.hpp"
#include "secrets/secret_store.hpp"

#include <optional>
#include <string>

namespace cmcp {

struct server_settings;

/// A secret as somebody wants it, in words.
struct secret_order {
    std::string name{};
    std::string hosts{};                     ///< between commas
    std::string header{}, query{}, basic{};  ///< its place: one of the three
    std::optional<std::string> principal{};  ///< nothing: the default caller; with a sandbox, whoever has that
    std::string sandbox{};
};

/// Puts a secret into the store, encrypted, in place of an earlier one. Makes the key where there is none and nothing
/// needs it yet. Throws std::invalid_argument, and secret_error where the key cannot be used.
secret_record set_secret(secret_store& store, const server_settings& config, const secret_order& wanted,
                         const std::string& value, double now);

/// The principal of the store that the words mean.
std::string principal_in(const secret_order& wanted);

/// Without the value; times in ISO 8601, null where there is none.
json::object describe(const secret_record& secret);

/// "API_KEY for api.example.com of ann", for the audit.
std::string subject_of(const secret_record& secret);

}  // namespace cmcp
