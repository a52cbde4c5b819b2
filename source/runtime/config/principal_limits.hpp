#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace cmcp {

struct settings;

/// The most that one principal may have, or do in a minute or an hour.
struct principal_limits {
    std::uint64_t calls = 0;      ///< of tools a minute; 0: any number
    std::uint64_t runs = 0;       ///< at once; 0: all slots but one
    std::uint64_t jobs = 0;       ///< that run or wait
    std::uint64_t tasks = 0;      ///< that are stored
    std::uint64_t sandboxes = 0;  ///< that exist
    std::uint64_t machines = 0;   ///< of those the ones of class machine; 0: none
    std::uint64_t kernels = 0;    ///< that live
    std::uint64_t shells = 0;     ///< that are open
    std::uint64_t sessions = 0;   ///< of the older revisions
    std::uint64_t disk = 0;       ///< bytes of all its sandboxes
    std::uint64_t workspace = 0;  ///< bytes of its default sandbox; 0: any number
    std::uint64_t network = 0;    ///< bytes that its sandboxes receive and send in an hour; 0: any number
};

/// A limit of a principal, as it is now.
using limit_of_principal = std::function<std::uint64_t(std::string_view principal)>;

/// A limit as people name it.
struct limit_name {
    std::string_view name;
    std::uint64_t principal_limits::*member;
    std::uint64_t unit;        ///< bytes of a MiB, or 1
    std::string_view setting;  ///< that sets it for everybody, as people are told
    bool may_be_zero;
    std::string_view meaning;
};

std::span<const limit_name> limit_names();

/// Null for other names.
const limit_name* find_limit(std::string_view name);

/// The row of a member; there is one for each.
const limit_name& name_of(std::uint64_t principal_limits::*member);

/// Those of everybody.
principal_limits limits_from(const settings& config);

/// A value instead of everybody's.
struct own_limit {
    const limit_name* of;
    std::uint64_t value;  ///< in units
};

/// "runs=2". Throws std::invalid_argument with a sentence.
own_limit parse_limit(std::string_view text);

struct named_limit {
    std::string_view principal;
    own_limit limit;
};

/// "ann:runs=2", a word of AUTH_QUOTAS; the principal `*` is everybody. Throws as parse_limit().
named_limit parse_named_limit(std::string_view text);

/// Those that AUTH_QUOTAS gives to a principal.
void apply_named(principal_limits& to, const settings& config, std::string_view principal);

}  // namespace cmcp
