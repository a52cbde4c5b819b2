#include "identity/issuer.hpp"

#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr std::size_t most_keys = 64;

std::vector<jose::public_key> keys_in(const json::object& document)
{
    std::vector<jose::public_key> keys;
    const auto* all = document.if_contains("keys");
    if (all == nullptr || !all->is_array()) throw std::runtime_error("its key set has no keys");
    for (const auto& each : all->get_array()) {
        auto key =
            each.is_object() && keys.size() < most_keys ? jose::public_key::read(each.get_object()) : std::nullopt;
        if (key) keys.push_back(std::move(*key));
    }
    if (keys.empty()) throw std::runtime_error("its key set has no key that can be used (RSA from 2048 bits on, EC)");
    return keys;
}

// A key set over plain HTTP could be anybody's, but on this machine.
void check_place(std::string_view issuer, std::string_view keys)
{
    if (keys.starts_with("https://") || (issuer.starts_with("http://") && keys.starts_with("http://"))) return;
    throw std::runtime_error("its metadata names no jwks_uri with https");
}

}  // namespace

issuer::issuer(std::string name, document_fetch fetch, times of)
    : name_(std::move(name)), fetch_(std::move(fetch)), times_(of)
{
}

bool issuer::knows(const jose::jwt& token) const
{
    const auto named = token.key_id();
    const auto is_it = [&](const jose::public_key& key) {
        return key.fits(token.algorithm()) && (named.empty() || key.id() == named);
    };
    return std::any_of(keys_.begin(), keys_.end(), is_it);
}

bool issuer::verifies(const jose::jwt& token, clock::time_point now) const
{
    if (now - fetched_ >= times_.kept) return false;
    const auto named = token.key_id();
    const auto verifies = [&](const jose::public_key& key) {
        return (named.empty() || key.id() == named) && key.verifies(token);
    };
    return std::any_of(keys_.begin(), keys_.end(), verifies);
}

bool issuer::may_fetch(const jose::jwt& token, clock::time_point now) const
{
    if (fetching_) return true;
    return !is_paused(now) && (now - fetched_ >= times_.kept || !knows(token));
}

// No coroutine, so that the mark is there when this returns.
awaitable<> issuer::fetch()
{
    fetching_ = true;
    tried_ = clock::now();
    return fetch_and_note();
}

awaitable<> issuer::fetched()
{
    while (fetching_) co_await ended_.wait();
}

awaitable<> issuer::fetch_and_note()
{
    struct mark {
        explicit mark(issuer& one) : of(one) {}
        ~mark()
        {
            of.fetching_ = false;
            of.ended_.notify();
        }
        mark(const mark&) = delete;
        mark& operator=(const mark&) = delete;
        issuer& of;
    };
    const mark at_end(*this);
    try {
        co_await fetch_keys();
        fetched_ = clock::now();
        trouble_.clear();
    } catch (const boost::system::system_error&) {
        throw;  // the server ends
    } catch (const std::runtime_error& problem) {
        trouble_ = problem.what();
        log::warning("issuer_failed", {{"issuer", json::string(name_)}, {"reason", json::string(trouble_)}});
    }
}

awaitable<> issuer::fetch_keys()
{
    const json::object about = co_await issuer_metadata(fetch_, name_);
    document_request wanted{text_of(about, "jwks_uri")};
    check_place(name_, wanted.url);
    const std::string text = co_await fetch_(std::move(wanted));
    keys_ = keys_in(jsonrpc::read_object(text, 16));
}

}  // namespace cmcp
