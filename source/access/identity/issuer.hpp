#pragma once

#include "async/event.hpp"
#include "identity/document_fetch.hpp"
#include "identity/jose.hpp"
#include "identity/shared_issuer_keys.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// An authorization server: its signing keys, as its metadata names them (RFC 8414, OpenID Connect Discovery). Io
/// thread only.
class issuer {
public:
    using clock = event::clock;

    /// Keys are fetched again when they are `fresh` old, when a token names an unknown one, and after a failure, but
    /// never within `pause` of the last try. Where the issuer is down its last keys serve until they are
    /// `stale_if_error` old, then none. In a cluster the try of another server counts as well, and keys that it has
    /// fetched serve here.
    struct times {
        clock::duration fresh = std::chrono::minutes(10);
        clock::duration pause = std::chrono::seconds(30);
        clock::duration stale_if_error = std::chrono::hours(1);
    };

    issuer(std::string name, document_fetch fetch, times of);

    const std::string& name() const { return name_; }

    /// Whether a key verifies the token. A token that names none is tried with those that fit.
    bool verifies(const jose::jwt& token, clock::time_point now) const;

    /// Whether fetch() may bring a key for the token.
    bool may_fetch(const jose::jwt& token, clock::time_point now) const;
    bool is_stale(clock::time_point now) const { return now - fetched_ >= times_.fresh && !is_paused(now); }

    void share(shared_issuer_keys with) { shared_ = std::move(with); }

    /// Brings the keys, for the token where one waits. To be run once at a time, beside the requests that wait for its
    /// end.
    awaitable<> fetch(std::optional<jose::jwt> wanted = std::nullopt);
    bool is_fetching() const { return fetching_; }
    awaitable<> fetched();  ///< at once where nothing is under way

    const std::string& trouble() const { return trouble_; }  ///< of the last fetch; empty: none

private:
    bool is_paused(clock::time_point now) const { return now - tried_ < times_.pause; }
    bool knows(const jose::jwt& token) const;
    bool serves(const std::optional<jose::jwt>& wanted) const;
    awaitable<> take(fetched_key_set set);
    awaitable<> fetch_and_note(std::optional<jose::jwt> wanted);
    awaitable<> fetch_where_needed(std::optional<jose::jwt> wanted);
    awaitable<> take_shared();
    awaitable<bool> claim();
    awaitable<> wait_for_others(std::optional<jose::jwt> wanted);
    awaitable<> fetch_keys();

    std::string name_;
    document_fetch fetch_;
    times times_;
    std::vector<jose::public_key> keys_;
    clock::time_point fetched_ = clock::time_point() - std::chrono::hours(24);
    clock::time_point tried_ = fetched_;
    bool fetching_ = false;
    event ended_;
    std::string trouble_;
    shared_issuer_keys shared_;
};

}  // namespace cmcp
