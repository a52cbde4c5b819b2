#pragma once

#include "config/cluster_settings.hpp"
#include "text/encodings.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// The keys of a cluster in etcd. What may hold a slash is percent-encoded in them.
class etcd_names {
public:
    explicit etcd_names(const cluster_settings& config) : prefix_(config.cluster_prefix) {}

    std::string members() const { return prefix_ + "member/"; }
    std::string member(std::string_view node) const { return members() + std::string(node); }

    std::string owners() const { return prefix_ + "own/"; }
    std::string owner(std::string_view handle) const { return owners() + std::string(handle); }

    std::string claims_of_before() const { return prefix_ + "claims-of-before"; }

    std::string uses() const { return prefix_ + "use/"; }
    std::string uses_of(std::string_view principal) const { return uses() + encoded(principal) + "/"; }
    std::string making(std::string_view principal) const { return prefix_ + "making/" + encoded(principal); }
    std::string home(std::string_view principal) const { return prefix_ + "home/" + encoded(principal); }
    std::string calls(std::string_view principal) const { return prefix_ + "calls/" + encoded(principal); }

    std::string limits() const { return prefix_ + "limit/"; }
    std::string limit(std::string_view principal, std::string_view name) const
    {
        return limits() + encoded(principal) + "/" + std::string(name);
    }

    std::string key(std::string_view id) const { return prefix_ + "key/" + encoded(id); }
    std::string proof(std::string_view digest) const { return prefix_ + "proof/" + std::string(digest); }
    std::string issuer(std::string_view issuer) const { return prefix_ + "issuer/" + encoded(issuer); }
    std::string fetch(std::string_view issuer) const { return prefix_ + "fetch/" + encoded(issuer); }

    static std::string encoded(std::string_view text)
    {
        return percent_encoded(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/' && c != '%'; });
    }

private:
    std::string prefix_;
};

}  // namespace cmcp
