#include "identity/issuer_metadata.hpp"
#include "test/access/identity/issuer_rig.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "text/signature.hpp"

#include <openssl/evp.h>

using namespace cmcp;
using namespace cmcp::test;

namespace {

using rig = issuer_rig;

std::string part(const json::object& of) { return base64url_encode(json::serialize(of)); }

std::string bytes_of_hex(std::string_view hex)
{
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

std::string signed_with_secret(std::string_view secret, json::object header)
{
    const auto input = part(header) + "." + part(rig::good_claims());
    return input + "." + base64url_encode(bytes_of_hex(signature_of(secret, input)));
}

std::string by(const key_pair& key, json::object header) { return key.sign(std::move(header), rig::good_claims()); }

}  // namespace

TEST_CASE("an issuer's token is a login with its scopes")
{
    rig as;
    const auto judged = as.judge(rig::good_token());
    REQUIRE(judged.who);
    CHECK(judged.who->principal == principal_of(rig::name, "ann"));
    CHECK(judged.who->principal.starts_with("oauth-"));
    CHECK(judged.who->scopes.text() == "mcp:read mcp:run");
    CHECK(judged.who->from == login::source::issuer);
    CHECK(as.served[std::string(rig::name) + "/jwks"] == 1);
}

TEST_CASE("a token that was seen is judged without the issuer, and for as long as it is good")
{
    rig as;
    REQUIRE(as.takes(rig::good_token()));
    as.down = true;
    for (int i = 0; i < 100; ++i) CHECK(as.takes(rig::good_token()));
}

TEST_CASE("verdicts are kept until their end, and the latest ones when there are many")
{
    login_cache cache(3);
    const auto now = login::clock::now();
    const auto who = std::make_shared<login>();
    cache.put("a", {who, {}}, now + std::chrono::seconds(10));
    CHECK(cache.find("a", now) != nullptr);
    CHECK(cache.find("a", now + std::chrono::seconds(10)) == nullptr);
    for (const auto* digest : {"b", "c"}) cache.put(digest, {who, {}}, now + std::chrono::hours(1));
    CHECK(cache.find("a", now) != nullptr);
    cache.put("d", {nullptr, "no"}, now + std::chrono::hours(1));
    CHECK(cache.find("b", now) == nullptr);
    CHECK(cache.find("d", now)->problem == "no");
    cache.put("d", {who, {}}, now + std::chrono::hours(1));
    CHECK(cache.find("d", now)->who == who);
}

TEST_CASE("algorithms of all kinds of keys are taken")
{
    rig as;
    as.keys.push_back(rig::ec_key());
    for (const auto* name : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
        CHECK(as.takes(by(rig::rsa_key(), rig::with(rig::good_header(), "alg", name))));
    CHECK(as.takes(by(rig::ec_key(), {{"alg", "ES256"}, {"typ", "application/at+jwt"}, {"kid", "e1"}})));
    CHECK(as.takes(by(rig::ec_key(), {{"alg", "ES256"}, {"typ", "AT+JWT"}})));  // names no key: the one that fits
}

namespace {

// A key of an Edwards curve, which signs as RFC 8037 says.
class edwards_pair {
public:
    edwards_pair(int type, std::string curve) : curve_(std::move(curve))
    {
        EVP_PKEY* fresh = nullptr;
        const std::unique_ptr<EVP_PKEY_CTX, decltype(&::EVP_PKEY_CTX_free)> context(
            ::EVP_PKEY_CTX_new_id(type, nullptr), &::EVP_PKEY_CTX_free);
        if (::EVP_PKEY_keygen_init(context.get()) != 1 || ::EVP_PKEY_keygen(context.get(), &fresh) != 1)
            throw std::runtime_error("no key");
        key_.reset(fresh, ::EVP_PKEY_free);
    }

    json::object jwk() const
    {
        std::size_t size = 0;
        ::EVP_PKEY_get_raw_public_key(key_.get(), nullptr, &size);
        std::string bytes(size, '\0');
        ::EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size);
        return {{"kty", "OKP"}, {"crv", curve_}, {"x", base64url_encode(bytes)}, {"kid", curve_}};
    }

    std::string sign(std::string_view algorithm) const
    {
        const json::object header{{"alg", algorithm}, {"typ", "at+jwt"}, {"kid", curve_}};
        const auto input = part(header) + "." + part(rig::good_claims());
        const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free);
        std::string signature(128, '\0');
        std::size_t size = signature.size();
        ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
        if (::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                             reinterpret_cast<const unsigned char*>(input.data()), input.size()) != 1)
            throw std::runtime_error("no signature");
        signature.resize(size);
        return input + "." + base64url_encode(signature);
    }

private:
    std::string curve_;
    std::shared_ptr<EVP_PKEY> key_;
};

std::string refusal_of(rig& as, const std::string& token) { return as.judge(token).problem; }

}  // namespace

TEST_CASE("signatures of Edwards curves are taken under the old name and the new ones")
{
    const edwards_pair small(EVP_PKEY_ED25519, "Ed25519"), large(EVP_PKEY_ED448, "Ed448");
    const auto key = jose::public_key::read(small.jwk()), other = jose::public_key::read(large.jwk());
    REQUIRE(key);
    REQUIRE(other);
    const auto fits = [](const jose::public_key& by, const std::string& token) {
        const auto read = jose::read_jwt(token);
        return read && by.verifies(*read);
    };
    CHECK(fits(*key, small.sign("EdDSA")));
    CHECK(fits(*key, small.sign("Ed25519")));
    CHECK(fits(*other, large.sign("EdDSA")));
    CHECK(fits(*other, large.sign("Ed448")));
    CHECK_FALSE(fits(*key, small.sign("Ed448")));
    CHECK_FALSE(fits(*key, small.sign("ES256")));
    CHECK_FALSE(fits(*key, large.sign("EdDSA")));
    auto cut = small.sign("EdDSA");
    cut[cut.size() - 10] = cut[cut.size() - 10] == 'A' ? 'B' : 'A';
    CHECK_FALSE(fits(*key, cut));
    auto odd = small.jwk();
    odd["x"] = "AAAA";
    CHECK_FALSE(jose::public_key::read(odd));
    odd = small.jwk();
    odd["crv"] = "X25519";
    CHECK_FALSE(jose::public_key::read(odd));
    CHECK(key->thumbprint() != other->thumbprint());
}

TEST_CASE("AUTH_TOKEN_TYPES is compared without regard to case and to application/")
{
    for (const auto* types : {"JWT", "jwt", "application/JWT", "Application/Jwt"}) {
        rig as([types](settings& config) { config.auth_token_types = {"at+jwt", types}; });
        for (const auto* typ : {"JWT", "jwt", "application/jwt", "at+jwt"})
            CHECK(as.takes(by(rig::rsa_key(), rig::with(rig::good_header(), "typ", typ))));
        CHECK_FALSE(as.takes(by(rig::rsa_key(), rig::with(rig::good_header(), "typ", "id+jwt"))));
    }
}

TEST_CASE("a refused token is told what is missing and what is trusted")
{
    rig as;
    const auto without_aud = rig::rsa_key().sign(rig::good_header(), rig::without(rig::good_claims(), "aud"));
    CHECK(refusal_of(as, without_aud).find("no aud") != std::string::npos);
    const auto slash = refusal_of(as, rig::token_with("iss", std::string(rig::name) + "/"));
    CHECK(slash.find(std::string(rig::name) + "/ is not trusted") != std::string::npos);
    CHECK(slash.find("AUTH_ISSUERS is " + std::string(rig::name)) != std::string::npos);
    CHECK(slash.find("slash") != std::string::npos);
    CHECK(refusal_of(as, rig::token_with("iss", "https://x.example")).find("slash") == std::string::npos);
}

TEST_CASE("a token without aud is taken where its client is named for that")
{
    rig as([](settings& config) { config.auth_audiences = {"client_id:pool-7"}; });
    const auto of_client = [](const char* client) {
        return rig::rsa_key().sign(rig::good_header(),
                                   rig::with(rig::without(rig::good_claims(), "aud"), "client_id", client));
    };
    CHECK(as.takes(of_client("pool-7")));
    CHECK_FALSE(as.takes(of_client("pool-8")));
    CHECK_FALSE(as.takes(rig::rsa_key().sign(
        rig::good_header(), rig::with(rig::with(rig::good_claims(), "aud", "x"), "client_id", "pool-7"))));
}

TEST_CASE("audiences: each endpoint of this server, its address, and those of the settings")
{
    rig as([](settings& config) { config.auth_audiences = {"api://mcp"}; });
    for (const auto* good :
         {"https://mcp.example.org", "https://mcp.example.org/", "https://mcp.example.org/mcp",
          "https://mcp.example.org/mcp/", "https://mcp.example.org/sse", "https://mcp.example.org/sse/", "api://mcp"})
        CHECK(as.takes(rig::token_with("aud", good)));
    CHECK(as.takes(rig::token_with("aud", json::array{"https://other.example", "api://mcp"})));
    const auto refusal = refusal_of(as, rig::token_with("aud", json::array{"https://other.example", "\"api:\n"}));
    CHECK(refusal.find("[https://other.example,api:n] is neither") != std::string::npos);
    for (const auto* bad :
         {"", "https://mcp.example.org:8443/mcp", "https://mcp.example.org.evil.example/mcp",
          "https://MCP.example.org/mcp2", "http://mcp.example.org/mcp", "https://other.example", "mcp.example.org"})
        CHECK_FALSE(as.takes(rig::token_with("aud", bad)));
}

TEST_CASE("tokens that are no signed access token for this server are refused")
{
    rig as;
    as.keys.push_back(rig::ec_key());
    const auto now = std::time(nullptr);
    const auto good = rig::good_token();
    const auto header = part(rig::good_header()), claims = part(rig::good_claims());
    const auto signature = good.substr(good.rfind('.') + 1);
    const auto stranger = key_pair::rsa("r1");
    const auto weak = key_pair::rsa("w1", 1024);
    as.keys.push_back(weak);
    const auto modulus = json::serialize(rig::rsa_key().jwk());
    const auto with_header = [&](std::string_view member, const auto& value) {
        return by(rig::rsa_key(), rig::with(rig::good_header(), member, value));
    };
    const auto tampered = [&](std::string_view claim, const auto& value) {
        return header + "." + part(rig::with(rig::good_claims(), claim, value)) + "." + signature;
    };
    const std::vector<std::pair<std::string, std::string>> cases{
        {"empty", ""},
        {"garbage", "garbage"},
        {"one dot", "a.b"},
        {"two dots alone", ".."},
        {"four parts", good + ".x"},
        {"five parts, encrypted", "a.b.c.d.e"},
        {"no signature", header + "." + claims + "."},
        {"signature of nothing", header + "." + claims + "." + base64url_encode(std::string(256, '\0'))},
        {"cut signature", good.substr(0, good.size() - 4)},
        {"longer signature", good + "AAAA"},
        {"other signature", header + "." + claims + "." + signature.substr(1) + "A"},
        {"padding", good + "=="},
        {"blank inside", header + ". " + claims + "." + signature},
        {"plain base64", header + "." + claims + "+/." + signature},
        {"alg none", part(rig::with(rig::good_header(), "alg", "none")) + "." + claims + "."},
        {"alg None", part(rig::with(rig::good_header(), "alg", "None")) + "." + claims + "."},
        {"alg none, old signature",
         part(rig::with(rig::good_header(), "alg", "none")) + "." + claims + "." + signature},
        {"no alg", part(rig::without(rig::good_header(), "alg")) + "." + claims + "." + signature},
        {"alg a number", part(rig::with(rig::good_header(), "alg", 256)) + "." + claims + "." + signature},
        {"HMAC with the public key", signed_with_secret(modulus, rig::with(rig::good_header(), "alg", "HS256"))},
        {"HMAC with nothing", signed_with_secret("", rig::with(rig::good_header(), "alg", "HS256"))},
        {"HMAC with the key's name", signed_with_secret("r1", {{"alg", "HS256"}, {"typ", "at+jwt"}, {"kid", "r1"}})},
        {"stranger's key of the same name", by(stranger, rig::good_header())},
        {"stranger's key, named in the header", by(stranger, rig::with(rig::good_header(), "jwk", stranger.jwk()))},
        {"stranger's key by jku", by(stranger, rig::with(rig::good_header(), "jku", "https://evil.example/jwks"))},
        {"stranger's key by x5u", by(stranger, rig::with(rig::good_header(), "x5u", "https://evil.example/cert"))},
        {"stranger's key by x5c", by(stranger, rig::with(rig::good_header(), "x5c", json::array{"MIIB"}))},
        {"kid of a path", by(stranger, rig::with(rig::good_header(), "kid", "../../dev/null"))},
        {"kid of SQL", by(stranger, rig::with(rig::good_header(), "kid", "r1' OR '1'='1"))},
        {"kid empty, stranger's key", by(stranger, rig::with(rig::good_header(), "kid", ""))},
        {"kid of another type", by(stranger, rig::with(rig::good_header(), "kid", 1))},
        {"RSA 1024", by(weak, {{"alg", "RS256"}, {"typ", "at+jwt"}, {"kid", "w1"}})},
        {"RS256 by the name of the EC key", by(rig::rsa_key(), rig::with(rig::good_header(), "kid", "e1"))},
        {"critical extension", with_header("crit", json::array{"exp"})},
        {"b64 false", with_header("crit", json::array{"b64"})},
        {"typ JWT", with_header("typ", "JWT")},
        {"typ of a proof", with_header("typ", "dpop+jwt")},
        {"typ of a logout", with_header("typ", "logout+jwt")},
        {"typ of an identity", with_header("typ", "id_token+jwt")},
        {"no typ", by(rig::rsa_key(), rig::without(rig::good_header(), "typ"))},
        {"another issuer", rig::token_with("iss", "https://evil.example")},
        {"issuer with a slash", rig::token_with("iss", "https://as.example.org/")},
        {"issuer in capitals", rig::token_with("iss", "HTTPS://AS.example.org")},
        {"issuer of two", rig::token_with("iss", json::array{rig::name, "https://evil.example"})},
        {"no issuer", rig::rsa_key().sign(rig::good_header(), rig::without(rig::good_claims(), "iss"))},
        {"no audience", rig::rsa_key().sign(rig::good_header(), rig::without(rig::good_claims(), "aud"))},
        {"audience null", rig::token_with("aud", nullptr)},
        {"audience of none", rig::token_with("aud", json::array{})},
        {"audience an object", rig::token_with("aud", json::object{{"https://mcp.example.org/mcp", true}})},
        {"audience with a query", rig::token_with("aud", "https://mcp.example.org/mcp?x")},
        {"the issuer as audience", rig::token_with("aud", rig::name)},
        {"the client as audience", rig::token_with("aud", "c")},
        {"no expiry", rig::rsa_key().sign(rig::good_header(), rig::without(rig::good_claims(), "exp"))},
        {"expired", rig::token_with("exp", now - 61)},
        {"expiry a text", rig::token_with("exp", std::to_string(now + 300))},
        {"expiry negative", rig::token_with("exp", -1)},
        {"expiry beyond all time", rig::token_with("exp", 1e300)},
        {"expiry null", rig::token_with("exp", nullptr)},
        {"not yet", rig::token_with("nbf", now + 120)},
        {"not-before a text", rig::token_with("nbf", "soon")},
        {"made in the future", rig::token_with("iat", now + 120)},
        {"made a text", rig::token_with("iat", "now")},
        {"no subject", rig::rsa_key().sign(rig::good_header(), rig::without(rig::good_claims(), "sub"))},
        {"subject empty", rig::token_with("sub", "")},
        {"subject a number", rig::token_with("sub", 7)},
        {"subject of 600 characters", rig::token_with("sub", std::string(600, 'a'))},
        {"other scopes under the same signature", tampered("scope", "mcp:admin")},
        {"other subject under the same signature", tampered("sub", "root")},
        {"longer life under the same signature", tampered("exp", now + 86400)},
        {"20 kB", rig::token_with("pad", std::string(20'000, 'a'))},
        {"1 MB", header + "." + std::string(1 << 20, 'A') + "." + signature},
        {"deep claims",
         header + "." + base64url_encode(std::string(5000, '[') + std::string(5000, ']')) + "." + signature},
        {"claims a list", header + "." + base64url_encode("[1]") + "." + signature},
        {"header a text", base64url_encode("\"RS256\"") + "." + claims + "." + signature},
        {"bytes that are no UTF-8", header + "." + base64url_encode("{\"iss\":\"\xff\"}") + "." + signature},
        {"an API key that nobody made", "cmk_000000000000_" + std::string(43, 'A')},
    };
    CHECK(cases.size() >= 60);
    REQUIRE(as.takes(good));
    for (const auto& [what, token] : cases) {
        INFO(what);
        const auto judged = as.judge(token);
        CHECK_FALSE(judged.who);
        CHECK(judged.error == "invalid_token");
        CHECK_FALSE(judged.problem.empty());
        CHECK_FALSE(judged.later);
    }
    CHECK(as.served[std::string(rig::name) + "/jwks"] <= 2);
    for (const auto& [address, times] : as.served) CHECK(address.starts_with(rig::name));
    CHECK(as.takes(good));
}

TEST_CASE("unknown keys cause at most one fetch in thirty seconds")
{
    rig as;
    const auto stranger = key_pair::rsa("x");
    for (int i = 0; i < 300; ++i)
        CHECK_FALSE(as.takes(by(stranger, rig::with(rig::good_header(), "kid", "k" + std::to_string(i)))));
    CHECK(as.served[std::string(rig::name) + "/jwks"] == 1);
    CHECK(as.takes(rig::good_token()));
}

TEST_CASE("a token while the issuer is down is neither taken nor called wrong")
{
    rig as;
    as.down = true;
    const auto judged = as.judge(rig::good_token());
    CHECK_FALSE(judged.who);
    CHECK(judged.unavailable);
    CHECK(judged.problem.find("nobody answers") != std::string::npos);
}

TEST_CASE("keys that the issuer takes back are of no use, new ones come, and the last ones serve while it is down")
{
    asio::io_context io;
    using clock = issuer::clock;
    const auto second = key_pair::rsa("r2");
    bool down = false;
    std::vector<const key_pair*> published{&rig::rsa_key()};
    issuer::times quick{
        .fresh = std::chrono::minutes(10), .pause = clock::duration(0), .stale_if_error = std::chrono::hours(1)};
    const document_fetch fetch = [&](document_request wanted) -> awaitable<std::string> {
        if (down) throw std::runtime_error("down");
        if (!wanted.url.ends_with("/jwks"))
            co_return json::serialize(
                json::object{{"issuer", rig::name}, {"jwks_uri", std::string(rig::name) + "/jwks"}});
        json::array all;
        for (const auto* each : published) all.push_back(each->jwk());
        co_return json::serialize(json::object{{"keys", all}});
    };
    issuer as(rig::name, fetch, quick);
    const auto old_token = jose::read_jwt(rig::good_token()).value();
    const auto new_token = jose::read_jwt(by(second, rig::with(rig::good_header(), "kid", "r2"))).value();
    CHECK_FALSE(as.verifies(old_token, clock::now()));
    run_coroutine(io, as.fetch());
    CHECK(as.verifies(old_token, clock::now()));
    CHECK(as.may_fetch(new_token, clock::now()));
    CHECK_FALSE(as.may_fetch(old_token, clock::now()));
    published = {&second};
    run_coroutine(io, as.fetch());
    CHECK(as.verifies(new_token, clock::now()));
    CHECK_FALSE(as.verifies(old_token, clock::now()));
    down = true;
    run_coroutine(io, as.fetch());
    CHECK(as.trouble() == "down");
    CHECK(as.verifies(new_token, clock::now() + std::chrono::minutes(59)));
    CHECK_FALSE(as.verifies(new_token, clock::now() + std::chrono::minutes(61)));
    CHECK(as.is_stale(clock::now() + std::chrono::minutes(11)));
}

TEST_CASE("metadata of another issuer and keys over plain HTTP are not taken")
{
    for (const auto& [issuer_told, keys_at] :
         {std::pair{"https://evil.example", "https://as.example.org/jwks"},
          std::pair{rig::name, "http://as.example.org/jwks"}, std::pair{rig::name, ""}}) {
        asio::io_context io;
        int asked_for_keys = 0;
        const std::string named_issuer = issuer_told, place = keys_at;
        const document_fetch fetch = [&](document_request wanted) -> awaitable<std::string> {
            if (wanted.url.ends_with("/jwks")) ++asked_for_keys;
            co_return json::serialize(json::object{{"issuer", named_issuer}, {"jwks_uri", place}});
        };
        issuer as(rig::name, fetch, {});
        run_coroutine(io, as.fetch());
        CHECK_FALSE(as.trouble().empty());
        CHECK(asked_for_keys == 0);
    }
}

TEST_CASE("opaque tokens are asked for once, as a client with its secret")
{
    rig as([](settings& config) {
        config.auth_introspection_url = "https://as.example.org/introspect";
        config.auth_introspection_client = "mcp server";
        config.auth_introspection_secret = "s:cret";
    });
    as.introspected = json::serialize(rig::with(rig::good_claims(), "active", true));
    for (int i = 0; i < 5; ++i) CHECK(as.takes("opaque"));
    CHECK(as.served["https://as.example.org/introspect"] == 1);
    CHECK(as.last.form == "token=opaque&token_type_hint=access_token");
    CHECK(as.last.headers.at(0).second == "Basic " + base64_encode("mcp%20server:s%3Acret"));
    for (const auto& claims :
         {json::object{{"active", false}}, json::object{}, rig::with(rig::good_claims(), "active", "true"),
          rig::with(rig::with(rig::good_claims(), "active", true), "aud", "https://other.example"),
          rig::with(rig::with(rig::good_claims(), "active", true), "iss", "https://evil.example"),
          rig::with(rig::with(rig::good_claims(), "active", true), "exp", 1)}) {
        as.introspected = json::serialize(claims);
        CHECK_FALSE(as.takes("other" + as.introspected));
    }
    as.down = true;
    CHECK_FALSE(as.takes("third"));
    CHECK(as.judge("third").unavailable);
    CHECK(as.takes("opaque"));
}

TEST_CASE("an answer goes on as long as its token counts, and an hour behind the end of a signed one")
{
    rig as([](settings& config) {
        config.auth_introspection_url = "https://as.example.org/introspect";
        config.auth_introspection_ttl = std::chrono::milliseconds(0);
    });
    const auto counts = [&as](const login_ptr& who) { return run_coroutine(as.io, as.logins->still_counts(who)); };
    const auto ends = [&as](std::chrono::minutes ago) {
        auto who = std::make_shared<login>(*as.judge(rig::good_token()).who);
        who->ends = login::clock::now() - ago;
        return login_ptr(std::move(who));
    };
    CHECK(counts(as.judge(rig::good_token()).who));
    CHECK(counts(ends(std::chrono::minutes(59))));
    CHECK_FALSE(counts(ends(std::chrono::minutes(61))));
    as.introspected = json::serialize(rig::with(rig::good_claims(), "active", true));
    const auto opaque = [&as](const char* token) {
        auto who = std::make_shared<login>(*as.judge(rig::good_token()).who);
        who->handle = token;
        return login_ptr(std::move(who));
    };
    CHECK(counts(opaque("one")));
    as.introspected = "{\"active\":false}";
    CHECK_FALSE(counts(opaque("one")));
    as.down = true;
    CHECK(counts(opaque("two")));
}

TEST_CASE("a subject that an administrator has linked is the principal of that name")
{
    token_rules rules;
    rules.issuers = {rig::name};
    rules.audiences = {"https://mcp.example.org/mcp"};
    rules.linked = [](std::string_view, std::string_view subject) { return subject == "ann" ? "ann" : std::string(); };
    const auto now = login::clock::now();
    CHECK(judge_claims(rig::good_claims(), rules, now).who->principal == "ann");
    CHECK(judge_claims(rig::with(rig::good_claims(), "sub", "bob"), rules, now).who->principal ==
          principal_of(rig::name, "bob"));
    CHECK(principal_of("https://a", "b") != principal_of("https://", "ab"));
}

TEST_CASE("a name of AUTH_ADMINS administers whatever its scopes are")
{
    rig as([](settings& config) { config.auth_admins = {principal_of(rig::name, "ann")}; });
    CHECK(as.judge(rig::good_token()).who->scopes.covers(scope::admin));
    CHECK_FALSE(as.judge(rig::token_with("sub", "bob")).who->scopes.covers(scope::admin));
}

TEST_CASE("scopes come as a text or a list, under both names, and from the settings where there are none")
{
    rig as([](settings& config) { config.auth_default_scopes = "mcp:read"; });
    CHECK(as.judge(rig::token_with("scope", "openid")).who->scopes.text() == "mcp:read");
    CHECK(as.judge(rig::token_with("scope", json::array{"mcp:web", "mcp:run"})).who->scopes.text() ==
          "mcp:run mcp:web");
    auto claims = rig::without(rig::good_claims(), "scope");
    claims["scp"] = "mcp:files";
    CHECK(as.judge(rig::rsa_key().sign(rig::good_header(), claims)).who->scopes.text() == "mcp:files");
}

TEST_CASE("a token whose binding or scopes cannot be read is not taken as one without")
{
    rig as;
    for (const auto* binding :
         {R"("thumb")", "5", "null", "{}", "[]", R"({"kid":"k"})", R"({"jwk":{"kty":"EC"}})", R"({"jkt":5})",
          R"({"jkt":""})", R"({"x5t#S256":["thumb"]})", R"({"jkt":"a","kid":"k"})"}) {
        INFO(binding);
        CHECK_FALSE(as.takes(rig::token_with("cnf", json::parse(binding))));
    }
    for (const auto* scopes : {"5", "true", R"({"mcp:read":true})", R"(["mcp:read",5])"}) {
        INFO(scopes);
        CHECK_FALSE(as.takes(rig::token_with("scope", json::parse(scopes))));
        CHECK_FALSE(as.takes(rig::token_with("scp", json::parse(scopes))));
    }
    CHECK(as.takes(rig::token_with("scp", json::parse("null"))));
}

TEST_CASE("documents of an issuer are bounded before they are read")
{
    const auto of = [](std::size_t values) {
        std::string text = "{\"keys\":[0";
        for (std::size_t i = 0; i < values; ++i) text += ",0";
        return text + "]}";
    };
    CHECK(read_issuer_document(of(1000)).contains("keys"));
    CHECK_THROWS_AS(read_issuer_document(of(30'000)), std::runtime_error);
    CHECK(read_issuer_document(std::string(100, '[')).empty());
}
