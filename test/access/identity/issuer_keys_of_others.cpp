#include "identity/issuer.hpp"
#include "test/access/identity/issuer_rig.hpp"
#include "test/support/catch.hpp"

#include <deque>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

/// The key sets and claims of servers of a cluster about one issuer, in memory.
struct key_sets_in_common {
    std::optional<fetched_key_set> set{};
    bool is_claimed = false;
    bool is_away = false;
    int claims = 0;

    shared_issuer_keys of_server()
    {
        shared_issuer_keys all;
        all.find = [this](std::string) { return find(); };
        all.claim = [this](std::string, std::chrono::seconds) { return claim(); };
        all.tell = [this](std::string, std::string document) { return tell(std::move(document)); };
        return all;
    }

private:
    awaitable<std::optional<fetched_key_set>> find() { co_return is_away ? std::nullopt : set; }
    awaitable<bool> claim()
    {
        ++claims;
        co_return is_away || !std::exchange(is_claimed, true);
    }
    awaitable<> tell(std::string document)
    {
        if (!is_away) set = fetched_key_set{std::move(document), 0s};
        co_return;
    }
};

/// Servers that trust one issuer, whose fetches are counted.
struct servers_of_issuer {
    int fetches = 0;
    std::vector<key_pair> published{issuer_rig::rsa_key()};
    key_sets_in_common common;
    asio::io_context io;

    issuer& server()
    {
        const document_fetch reach = [this](document_request wanted) { return serve(std::move(wanted)); };
        auto& one = servers_.emplace_back(issuer_rig::name, reach, issuer::times{});
        one.share(common.of_server());
        return one;
    }
    void fetch(issuer& of, const std::optional<jose::jwt>& wanted) { run_coroutine(io, of.fetch(wanted)); }

private:
    std::deque<issuer> servers_;

    awaitable<std::string> serve(document_request wanted)
    {
        if (!wanted.url.ends_with("/jwks"))
            co_return json::serialize(
                json::object{{"issuer", issuer_rig::name}, {"jwks_uri", std::string(issuer_rig::name) + "/jwks"}});
        ++fetches;
        json::array all;
        for (const auto& each : published) all.push_back(each.jwk());
        co_return json::serialize(json::object{{"keys", all}});
    }
};

jose::jwt token_by(const key_pair& key)
{
    const auto header = issuer_rig::with(issuer_rig::good_header(), "kid", key.id());
    return jose::read_jwt(key.sign(header, issuer_rig::good_claims())).value();
}

}  // namespace

TEST_CASE("keys that one server has fetched serve at the others, for as long as they would at the first")
{
    servers_of_issuer all;
    auto &one = all.server(), &two = all.server();
    const auto token = token_by(issuer_rig::rsa_key());
    all.fetch(one, token);
    all.common.set->age = 120s;
    all.fetch(two, token);
    CHECK(two.verifies(token, issuer::clock::now()));
    CHECK(all.fetches == 1);
    CHECK_FALSE(two.is_stale(issuer::clock::now() + 7min));
    CHECK(two.is_stale(issuer::clock::now() + 9min));
    CHECK(two.verifies(token, issuer::clock::now() + 57min));
    CHECK_FALSE(two.verifies(token, issuer::clock::now() + 59min));
}

TEST_CASE("a set of another server without the token's key is fetched anew, once by all of them")
{
    servers_of_issuer all;
    auto &one = all.server(), &two = all.server(), &three = all.server();
    all.fetch(one, token_by(issuer_rig::rsa_key()));
    all.common.is_claimed = false;  // the pause is over
    const auto fresh = key_pair::rsa("r2");
    all.published.push_back(fresh);
    const auto token = token_by(fresh);
    for (auto* each : {&two, &three, &one}) {
        all.fetch(*each, token);
        CHECK(each->verifies(token, issuer::clock::now()));
    }
    CHECK(all.fetches == 2);
}

TEST_CASE("an unknown key that one server has looked for is not looked for by the others at once")
{
    servers_of_issuer all;
    auto &one = all.server(), &two = all.server();
    const auto stranger = token_by(key_pair::rsa("x"));
    all.fetch(one, stranger);
    all.fetch(two, stranger);
    CHECK(all.fetches == 1);
    CHECK_FALSE(two.may_fetch(stranger, issuer::clock::now() + 4s));
    CHECK(two.may_fetch(stranger, issuer::clock::now() + 6s));
    CHECK(two.verifies(token_by(issuer_rig::rsa_key()), issuer::clock::now()));
}

TEST_CASE("a server without keys fetches them itself where another one has claimed that and tells nothing")
{
    servers_of_issuer all;
    all.common.is_claimed = true;
    auto& one = all.server();
    const auto token = token_by(issuer_rig::rsa_key());
    all.fetch(one, token);
    CHECK(one.verifies(token, issuer::clock::now()));
    CHECK(all.fetches == 1);
}

TEST_CASE("each server fetches by itself while the directory is away")
{
    servers_of_issuer all;
    all.common.is_away = true;
    const auto token = token_by(issuer_rig::rsa_key());
    for (int i = 0; i != 3; ++i) {
        auto& each = all.server();
        all.fetch(each, token);
        CHECK(each.verifies(token, issuer::clock::now()));
    }
    CHECK(all.fetches == 3);
}

TEST_CASE("an older set, or one that is none, replaces no keys")
{
    servers_of_issuer all;
    auto& one = all.server();
    const auto token = token_by(issuer_rig::rsa_key());
    all.fetch(one, token);
    const auto forged = key_pair::rsa("f");
    const auto other = json::serialize(json::object{{"keys", json::array{forged.jwk()}}});
    all.common.is_claimed = true;
    for (const auto& set :
         {fetched_key_set{other, 300s}, fetched_key_set{"{\"keys\":[]}", 0s}, fetched_key_set{"", 0s}}) {
        all.common.set = set;
        all.fetch(one, token_by(forged));
        CHECK(one.verifies(token, issuer::clock::now()));
        CHECK_FALSE(one.verifies(token_by(forged), issuer::clock::now()));
    }
}
