#include "test/access/identity/issuer_rig.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

#include <set>

using namespace cmcp;
using namespace cmcp::test;

namespace {

using rig = issuer_rig;

const std::string resource_url = "https://mcp.example.org/mcp";

struct client {
    key_pair key = key_pair::ec("");
    std::string thumbprint = jose::public_key::read(key.jwk())->thumbprint();
    std::string token = rig::token_with("cnf", json::object{{"jkt", thumbprint}});

    json::object header() const { return {{"alg", "ES256"}, {"typ", "dpop+jwt"}, {"jwk", key.jwk()}}; }
    json::object claims(std::string id) const
    {
        return {{"jti", id},
                {"htm", "POST"},
                {"htu", resource_url},
                {"iat", std::time(nullptr)},
                {"ath", base64url_encode(sha256(token))}};
    }
    std::string proof(std::string id) const { return key.sign(header(), claims(std::move(id))); }
};

admission send(rig& as, const client& by, const std::string& proof, const std::string& scheme = "dpop")
{
    return as.judge(by.token, scheme, {proof, "POST", {resource_url}, {}});
}

}  // namespace

TEST_CASE("a token that is bound to a key is good with a proof, once")
{
    rig as;
    const client by;
    const auto proof = by.proof("1");
    CHECK(send(as, by, proof).who);
    const auto again = send(as, by, proof);
    CHECK_FALSE(again.who);
    CHECK(again.error == "invalid_dpop_proof");
    CHECK(send(as, by, by.proof("2")).who);
}

TEST_CASE("a token that is bound to a key is of no use without it")
{
    rig as;
    const client by, thief;
    CHECK(send(as, by, by.proof("0")).who);
    CHECK_FALSE(send(as, by, "", "bearer").who);
    const auto changed = [&](std::string_view claim, const auto& value) {
        return by.key.sign(
            by.header(),
            rig::with(by.claims(std::string(claim) + json::serialize(json::value_from(value))), claim, value));
    };
    const auto now = std::time(nullptr);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"none", ""},
        {"garbage", "a.b.c"},
        {"the token itself", by.token},
        {"thief's key", thief.key.sign(thief.header(), by.claims("t1"))},
        {"thief's signature under the client's key", thief.key.sign(by.header(), by.claims("t2"))},
        {"with the private key", by.key.sign(rig::with(by.header(), "jwk", by.key.jwk(true)), by.claims("t3"))},
        {"without a key", by.key.sign(rig::without(by.header(), "jwk"), by.claims("t4"))},
        {"typ JWT", by.key.sign(rig::with(by.header(), "typ", "JWT"), by.claims("t5"))},
        {"another method", changed("htm", "GET")},
        {"another path", changed("htu", "https://mcp.example.org/sse")},
        {"another host", changed("htu", "https://evil.example/mcp")},
        {"a longer host", changed("htu", "https://mcp.example.org.evil.example/mcp")},
        {"plain HTTP", changed("htu", "http://mcp.example.org/mcp")},
        {"no address", changed("htu", "")},
        {"another token", changed("ath", base64url_encode(sha256("x")))},
        {"no token", changed("ath", nullptr)},
        {"old", changed("iat", now - 400)},
        {"of the future", changed("iat", now + 120)},
        {"no time", changed("iat", nullptr)},
        {"no id", by.key.sign(by.header(), rig::with(by.claims("x"), "jti", ""))},
        {"an endless id", by.key.sign(by.header(), rig::with(by.claims("x"), "jti", std::string(1000, 'a')))},
    };
    for (const auto& [what, proof] : cases) {
        INFO(what);
        CHECK_FALSE(send(as, by, proof).who);
    }
    CHECK(send(as, by, changed("htu", resource_url + "?profile=agent#x")).who);
    CHECK(send(as, by, changed("htu", "HTTPS://MCP.example.org/mcp")).who);
}

TEST_CASE("AUTH_DPOP says which tokens are taken")
{
    const client by;
    rig off([](settings& config) { config.auth_dpop = "off"; });
    CHECK_FALSE(send(off, by, by.proof("a")).who);
    CHECK(off.takes(rig::good_token()));
    rig required([](settings& config) { config.auth_dpop = "require"; });
    CHECK(send(required, by, by.proof("b")).who);
    CHECK_FALSE(required.takes(rig::good_token()));
    rig accepted;
    CHECK(accepted.takes(rig::good_token()));
    CHECK_FALSE(accepted.judge(rig::good_token(), "dpop", {by.proof("c"), "POST", {resource_url}, {}}).who);
}

TEST_CASE("a token that is bound to a certificate needs it")
{
    rig as;
    const auto token = rig::token_with("cnf", json::object{{"x5t#S256", "thumb"}});
    CHECK_FALSE(as.takes(token));
    CHECK_FALSE(as.judge(token, "bearer", {}, "other").who);
    CHECK(as.judge(token, "bearer", {}, "thumb").who);
}

namespace {

struct claims_of_others {
    std::set<std::string> claimed;
    bool is_away = false;

    shared_logins known()
    {
        shared_logins all;
        all.first_use = [this](std::string digest, std::chrono::seconds keep) {
            return claim(std::move(digest), keep);
        };
        all.find_key = [](std::string) { return no_key(); };
        return all;
    }
    awaitable<std::optional<bool>> claim(std::string digest, std::chrono::seconds keep)
    {
        CHECK(keep == proofs::remembered_for);
        std::optional<bool> first;
        if (!is_away) first = claimed.insert(std::move(digest)).second;
        co_return first;
    }
    static awaitable<key_elsewhere> no_key() { co_return key_elsewhere{true, {}}; }
};

}  // namespace

TEST_CASE("a proof is good once at all servers of a cluster together")
{
    claims_of_others all;
    rig one, two;
    one.logins->share(all.known());
    two.logins->share(all.known());
    const client by;
    const auto first = by.proof("1"), second = by.proof("2");
    CHECK(send(one, by, first).who);
    CHECK_FALSE(send(one, by, first).who);
    const auto again = send(two, by, first);
    CHECK_FALSE(again.who);
    CHECK(again.error == "invalid_dpop_proof");
    CHECK(send(two, by, second).who);
    CHECK_FALSE(send(one, by, second).who);
    CHECK(all.claimed.size() == 2);
    CHECK_FALSE(send(one, by, by.proof("3") + "x").who);  // a wrong one is claimed by nobody
    CHECK(all.claimed.size() == 2);
}

TEST_CASE("a proof that the other servers cannot be asked about is not taken until they answer")
{
    claims_of_others all;
    rig one, two;
    one.logins->share(all.known());
    two.logins->share(all.known());
    const client by;
    const auto proof = by.proof("1");
    CHECK(send(one, by, proof).who);
    all.is_away = true;
    const auto elsewhere = send(two, by, proof);
    CHECK_FALSE(elsewhere.who);
    CHECK(elsewhere.unavailable);
    CHECK_FALSE(elsewhere.later);
    const auto fresh = by.proof("2");
    for (int i = 0; i < 3; ++i) CHECK(send(two, by, fresh).unavailable);
    all.is_away = false;
    CHECK(send(two, by, fresh).who);
    CHECK(send(two, by, proof).error == "invalid_dpop_proof");
}
