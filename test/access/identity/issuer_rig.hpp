#pragma once

#include "identity/gatekeeper.hpp"
#include "text/encodings.hpp"

#include "config/settings.hpp"
#include "test/support/run_coroutine.hpp"

#include <cjose/cjose.h>

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace cmcp::test {

/// A key pair of an authorization server, or of a client.
class key_pair {
public:
    static key_pair rsa(std::string id, std::size_t bits = 2048)
    {
        const unsigned char exponent[] = {1, 0, 1};
        return key_pair(cjose_jwk_create_RSA_random(bits, exponent, sizeof exponent, nullptr), std::move(id));
    }
    static key_pair ec(std::string id)
    {
        return key_pair(cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, nullptr), std::move(id));
    }

    json::object jwk(bool with_private = false) const
    {
        const std::unique_ptr<char, void (*)(void*)> text(cjose_jwk_to_json(key_.get(), with_private, nullptr),
                                                          std::free);
        auto members = json::parse(text.get()).as_object();
        if (!id_.empty()) members["kid"] = id_;
        return members;
    }

    std::string sign(json::object header, const json::object& claims) const
    {
        const auto text = json::serialize(claims);
        const auto put = [header = cjose_header_new(nullptr)](const char* name, const json::value& value) {
            if (value.is_string()) return cjose_header_set(header, name, value.as_string().c_str(), nullptr), header;
            return cjose_header_set_raw(header, name, json::serialize(value).c_str(), nullptr), header;
        };
        cjose_header_t* protected_header = nullptr;
        for (const auto& member : header) protected_header = put(std::string(member.key()).c_str(), member.value());
        cjose_jws_t* const jws = cjose_jws_sign(key_.get(), protected_header,
                                                reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr);
        cjose_header_release(protected_header);
        if (jws == nullptr) throw std::runtime_error("cannot sign");
        const char* compact = nullptr;
        cjose_jws_export(jws, &compact, nullptr);
        std::string out(compact);
        cjose_jws_release(jws);
        return out;
    }

    const std::string& id() const { return id_; }

private:
    key_pair(cjose_jwk_t* key, std::string id) : key_(key, cjose_jwk_release), id_(std::move(id)) {}
    std::shared_ptr<cjose_jwk_t> key_;
    std::string id_;
};

/// An authorization server of one issuer in memory, and a gatekeeper that trusts it.
class issuer_rig {
public:
    static constexpr const char* name = "https://as.example.org";
    static constexpr const char* here = "https://mcp.example.org";

    explicit issuer_rig(std::function<void(settings&)> change = {})
    {
        config.auth_issuers = {name};
        config.public_url = here;
        config.sandbox_root = "/nonexistent";
        if (change) change(config);
        keys = {rsa_key()};
        logins = std::make_unique<gatekeeper>(io.get_executor(), config,
                                              [this](document_request wanted) { return serve(std::move(wanted)); });
    }

    static const key_pair& rsa_key()
    {
        static const auto key = key_pair::rsa("r1");
        return key;
    }
    static const key_pair& ec_key()
    {
        static const auto key = key_pair::ec("e1");
        return key;
    }

    static json::object good_claims()
    {
        const auto now = std::time(nullptr);
        return {{"iss", name},      {"sub", "ann"},    {"aud", std::string(here) + "/mcp"},
                {"exp", now + 300}, {"iat", now},      {"scope", "openid mcp:read mcp:run"},
                {"jti", "1"},       {"client_id", "c"}};
    }
    static json::object good_header() { return {{"alg", "RS256"}, {"typ", "at+jwt"}, {"kid", "r1"}}; }
    static std::string good_token() { return rsa_key().sign(good_header(), good_claims()); }

    template <class Value>
    static json::object with(json::object of, std::string_view member, const Value& value)
    {
        of[member] = json::value_from(value);
        return of;
    }
    static json::object without(json::object of, std::string_view member)
    {
        of.erase(member);
        return of;
    }
    template <class Value>
    static std::string token_with(std::string_view claim, const Value& value)
    {
        return rsa_key().sign(good_header(), with(good_claims(), claim, value));
    }

    admission judge(const std::string& token, std::string scheme = "bearer", proven_request proof = {},
                    std::string certificate = {})
    {
        credentials of;
        of.scheme = scheme;
        of.token = token;
        of.peer = "192.0.2.1";
        of.certificate = certificate;
        of.proof = std::move(proof);
        auto judged = logins->judge(of);
        if (!judged.later) return judged;
        run_coroutine(io, logins->ask(of));
        return logins->judge(of);
    }

    bool takes(const std::string& token) { return judge(token).who != nullptr; }

    settings config;
    asio::io_context io;
    std::vector<key_pair> keys;  ///< that the server publishes
    std::string introspected = "{\"active\":false}";
    std::map<std::string, int> served;  ///< requests by address
    bool down = false;
    document_request last;
    std::unique_ptr<gatekeeper> logins;

private:
    awaitable<std::string> serve(document_request wanted)
    {
        ++served[wanted.url];
        last = wanted;
        if (down) throw std::runtime_error("nobody answers");
        if (wanted.url.ends_with("/introspect")) co_return introspected;
        if (wanted.url == std::string(name) + "/jwks") {
            json::array all;
            for (const auto& each : keys) all.push_back(each.jwk());
            co_return json::serialize(json::object{{"keys", all}});
        }
        if (wanted.url == std::string(name) + "/.well-known/openid-configuration")
            co_return json::serialize(json::object{{"issuer", name}, {"jwks_uri", std::string(name) + "/jwks"}});
        throw std::runtime_error("status 404");
    }
};

}  // namespace cmcp::test
