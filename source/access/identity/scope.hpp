#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// A right to use a part of the server. Tokens carry it as "mcp:read", "mcp:files", …
enum class scope : std::uint8_t {
    read,       ///< look at files, jobs and state; every other scope includes it
    files,      ///< change files
    run,        ///< run code and commands, use kernels, shells and ports
    sandboxes,  ///< create, fork, restore and delete sandboxes
    packages,   ///< install packages
    web,        ///< search, fetch and browse
    admin       ///< administer the server; includes all others
};

class scope_set {
public:
    constexpr scope_set() = default;
    constexpr scope_set(scope one) : bits_(bit(one)) {}  // NOLINT(google-explicit-constructor): one is a set, too

    static constexpr scope_set ordinary() { return scope_set(std::uint8_t(bit(scope::admin) - 1)); }  ///< all but admin
    static constexpr scope_set all() { return scope_set(scope::admin).with_included(); }

    /// Names between blanks; names of other servers are left out.
    static scope_set parse(std::string_view names);

    constexpr scope_set operator|(scope_set other) const { return scope_set(std::uint8_t(bits_ | other.bits_)); }
    constexpr scope_set without(scope_set other) const { return scope_set(std::uint8_t(bits_ & ~other.bits_)); }
    constexpr scope_set common(scope_set other) const  ///< what both cover
    {
        return scope_set(std::uint8_t(with_included().bits_ & other.with_included().bits_));
    }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool operator==(const scope_set&) const = default;

    /// Whether who has these scopes may do what needs those.
    constexpr bool covers(scope_set needed) const { return needed.without(with_included()).empty(); }

    /// "mcp:read mcp:files"
    std::string text() const;

private:
    constexpr explicit scope_set(std::uint8_t bits) : bits_(bits) {}
    static constexpr std::uint8_t bit(scope one) { return std::uint8_t(1u << static_cast<unsigned>(one)); }
    constexpr scope_set with_included() const
    {
        if ((bits_ & bit(scope::admin)) != 0) return scope_set(std::uint8_t(2 * bit(scope::admin) - 1));
        return bits_ == 0 ? scope_set() : scope_set(std::uint8_t(bits_ | bit(scope::read)));
    }

    std::uint8_t bits_ = 0;
};

}  // namespace cmcp
