#include "identity/issuer.hpp"

#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr std::size_t most_keys = 64, most_tried = 256;
constexpr std::chrono::seconds patience_with_others(3);
constexpr std::chrono::milliseconds between_looks(100);
constexpr std::chrono::seconds before_next_look(5);

// Each key is checked for its strength and its curve, which takes a while: others have their turn in between.
awaitable<std::vector<jose::public_key>> keys_in(json::object document)
{
    constexpr std::size_t most_in_a_turn = 4;
    const auto executor = co_await asio::this_coro::executor;
    std::vector<jose::public_key> keys;
    const auto* all = document.if_contains("keys");
    if (all == nullptr || !all->is_array()) throw std::runtime_error("its key set has no keys");
    std::size_t tried = 0;
    for (const auto& each : all->get_array()) {
        if (keys.size() == most_keys || tried++ == most_tried) break;
        if (tried % most_in_a_turn == 0) co_await asio::post(executor, asio::use_awaitable);
        auto key = each.is_object() ? jose::public_key::read(each.get_object()) : std::nullopt;
        if (key) keys.push_back(std::move(*key));
    }
    if (keys.empty())
        throw std::runtime_error("its key set has no key that can be used (RSA from 2048 bits on, EC, Ed25519, Ed448)");
    co_return keys;
}

// A key set over plain HTTP could be anybody's, but on this machine.
void check_key_address(std::string_view issuer, std::string_view keys)
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
    if (now - fetched_ >= times_.stale_if_error) return false;
    const auto named = token.key_id();
    const auto verifies = [&](const jose::public_key& key) {
        return (named.empty() || key.id() == named) && key.verifies(token);
    };
    return std::any_of(keys_.begin(), keys_.end(), verifies);
}

bool issuer::may_fetch(const jose::jwt& token, clock::time_point now) const
{
    if (fetching_) return true;
    return !is_paused(now) && (now - fetched_ >= times_.stale_if_error || !knows(token));
}

// No coroutine, so that the mark is there when this returns.
awaitable<> issuer::fetch(std::optional<jose::jwt> wanted)
{
    fetching_ = true;
    tried_ = clock::now();
    return fetch_and_note(std::move(wanted));
}

awaitable<> issuer::fetched()
{
    while (fetching_) co_await ended_.wait();
}

awaitable<> issuer::fetch_and_note(std::optional<jose::jwt> wanted)
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
        co_await fetch_where_needed(std::move(wanted));
        trouble_.clear();
    } catch (const boost::system::system_error&) {
        throw;  // the server ends
    } catch (const std::runtime_error& problem) {
        trouble_ = problem.what();
        log::warning("issuer_failed", {{"issuer", json::string(name_)}, {"reason", json::string(trouble_)}});
    }
}

bool issuer::serves(const std::optional<jose::jwt>& wanted) const
{
    return clock::now() - fetched_ < times_.fresh && (!wanted || knows(*wanted));
}

// A server without keys does not go by the claim of another one, which may have failed.
awaitable<> issuer::fetch_where_needed(std::optional<jose::jwt> wanted)
{
    co_await take_shared();
    if (shared_.find && serves(wanted)) co_return;
    const bool is_claimed = co_await claim();
    if (!is_claimed) co_await wait_for_others(wanted);
    const bool has_keys = clock::now() - fetched_ < times_.stale_if_error;
    if (is_claimed || !has_keys) co_return co_await fetch_keys();
    tried_ = clock::now() - times_.pause + before_next_look;
}

// The same checks as for a set that this server has fetched.
awaitable<> issuer::take(fetched_key_set set)
{
    const auto fetched = clock::now() - set.age;
    if (fetched <= fetched_ || set.age >= times_.stale_if_error) co_return;
    try {
        auto document = read_issuer_document(set.document);
        keys_ = co_await keys_in(std::move(document));
        fetched_ = fetched;
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& problem) {
        log::warning("issuer_keys_refused", {{"issuer", json::string(name_)}, {"reason", problem.what()}});
    }
}

awaitable<> issuer::take_shared()
{
    if (!shared_.find) co_return;
    const auto set = co_await shared_.find(name_);
    if (set) co_await take(*set);
}

awaitable<bool> issuer::claim()
{
    if (!shared_.claim) co_return true;
    const auto pause = std::chrono::duration_cast<std::chrono::seconds>(times_.pause);
    const bool is_first = co_await shared_.claim(name_, pause);
    co_return is_first;
}

// Of the server that fetches now. Nobody waits for a refresh beside.
awaitable<> issuer::wait_for_others(std::optional<jose::jwt> wanted)
{
    const auto until = clock::now() + patience_with_others;
    while (wanted && !serves(wanted) && clock::now() < until) {
        co_await ended_.wait(clock::now() + between_looks);
        co_await take_shared();
    }
}

awaitable<> issuer::fetch_keys()
{
    const json::object about = co_await issuer_metadata(fetch_, name_);
    document_request wanted{text_of(about, "jwks_uri")};
    check_key_address(name_, wanted.url);
    std::string text = co_await fetch_(std::move(wanted));
    auto document = read_issuer_document(text);
    keys_ = co_await keys_in(std::move(document));
    fetched_ = clock::now();
    if (shared_.tell) co_await shared_.tell(name_, std::move(text));
}

}  // namespace cmcp
