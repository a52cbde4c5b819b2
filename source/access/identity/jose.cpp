#include "identity/jose.hpp"

#include "jsonrpc/read_object.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <cjose/header.h>
#include <cjose/jwk.h>
#include <cjose/jws.h>

#include <openssl/evp.h>

#include <algorithm>

namespace cmcp::jose {

namespace {

constexpr std::size_t longest_token = 16 * 1024;
constexpr std::size_t least_modulus = 2048 / 8, most_modulus = 16'384 / 8;

// Empty where there is none: a header and claims have members.
json::object object_in(std::string_view encoded)
{
    constexpr std::size_t depth = 8;
    return jsonrpc::read_object(base64url_decode(encoded).value_or(""), depth);
}

std::string_view curve_for(std::string_view algorithm)
{
    if (algorithm == "ES256") return "P-256";
    if (algorithm == "ES384") return "P-384";
    return algorithm == "ES512" ? "P-521" : "";
}

bool is_for_signatures(const json::object& jwk)
{
    if (jwk.contains("use") && view_of(jwk, "use") != "sig") return false;
    const auto* operations = jwk.if_contains("key_ops");
    if (operations == nullptr) return true;
    const auto verifies = [](const json::value& each) { return each.is_string() && each.get_string() == "verify"; };
    return operations->is_array() && std::ranges::any_of(operations->get_array(), verifies);
}

// Only these go to the library, so that nothing else in a key has an effect.
json::object public_members(const json::object& jwk)
{
    const auto type = view_of(jwk, "kty");
    if (type == "RSA") return {{"e", view_of(jwk, "e")}, {"kty", type}, {"n", view_of(jwk, "n")}};
    if (type == "OKP") return {{"crv", view_of(jwk, "crv")}, {"kty", type}, {"x", view_of(jwk, "x")}};
    if (type != "EC") return {};
    return {{"crv", view_of(jwk, "crv")}, {"kty", type}, {"x", view_of(jwk, "x")}, {"y", view_of(jwk, "y")}};
}

bool is_strong(const json::object& members)
{
    if (view_of(members, "kty") != "RSA") return true;
    const auto modulus = base64url_decode(view_of(members, "n"));
    return modulus && modulus->size() >= least_modulus && modulus->size() <= most_modulus && modulus->front() != 0;
}

// Null: no public key of one of these curves.
std::shared_ptr<EVP_PKEY> edwards_key(const json::object& members)
{
    const auto curve = view_of(members, "crv");
    const auto bytes = base64url_decode(view_of(members, "x"));
    const int type = curve == "Ed25519" ? EVP_PKEY_ED25519 : curve == "Ed448" ? EVP_PKEY_ED448 : EVP_PKEY_NONE;
    if (!bytes || type == EVP_PKEY_NONE) return nullptr;
    const auto* begin = reinterpret_cast<const unsigned char*>(bytes->data());
    EVP_PKEY* const key = ::EVP_PKEY_new_raw_public_key(type, nullptr, begin, bytes->size());
    return key == nullptr ? nullptr : std::shared_ptr<EVP_PKEY>(key, ::EVP_PKEY_free);
}

// EdDSA names no curve (RFC 8037 section 3.1); the other names do (RFC 9864 section 2.2).
bool names_curve(std::string_view algorithm, std::string_view curve)
{
    return algorithm == "EdDSA" || algorithm == curve;
}

struct signature_closer {
    void operator()(cjose_jws_t* of) const { cjose_jws_release(of); }
};

}  // namespace

std::string_view jwt::algorithm() const { return view_of(header, "alg"); }
std::string_view jwt::key_id() const { return view_of(header, "kid"); }

bool is_known_algorithm(std::string_view name)
{
    const auto known = split(algorithms, ' ');
    return std::find(known.begin(), known.end(), name) != known.end();
}

std::optional<jwt> read_jwt(std::string_view compact)
{
    const auto first = compact.find('.');
    const auto second = compact.find('.', std::min(first, compact.size() - 1) + 1);
    if (compact.size() > longest_token || first == std::string_view::npos || second == std::string_view::npos ||
        compact.find('.', second + 1) != std::string_view::npos)
        return std::nullopt;
    auto header = object_in(compact.substr(0, first));
    auto claims = object_in(compact.substr(first + 1, second - first - 1));
    const bool canonical = base64url_decode(compact.substr(second + 1)).has_value();
    if (!canonical || header.empty() || claims.empty() || header.contains("crit")) return std::nullopt;
    return jwt{std::string(compact), std::move(header), std::move(claims)};
}

std::optional<public_key> public_key::read(const json::object& jwk)
{
    public_key key;
    key.members_ = public_members(jwk);
    if (key.members_.empty() || jwk.contains("d") || !is_for_signatures(jwk) || !is_strong(key.members_))
        return std::nullopt;
    if (view_of(key.members_, "kty") == "OKP") {
        key.edwards_ = edwards_key(key.members_);
        if (!key.edwards_) return std::nullopt;
    } else {
        const std::string text = json::serialize(key.members_);
        cjose_jwk_t* const imported = cjose_jwk_import(text.data(), text.size(), nullptr);
        if (imported == nullptr) return std::nullopt;
        key.key_.reset(imported, cjose_jwk_release);
    }
    key.id_ = view_of(jwk, "kid");
    key.algorithm_ = view_of(jwk, "alg");
    return key;
}

bool public_key::fits(std::string_view algorithm) const
{
    if (!is_known_algorithm(algorithm)) return false;
    if (const auto own = view_of(members_, "crv"); edwards_)
        return names_curve(algorithm, own) && (algorithm_.empty() || names_curve(algorithm_, own));
    if (!algorithm_.empty() && algorithm_ != algorithm) return false;
    const auto curve = curve_for(algorithm);
    return view_of(members_, "kty") == (curve.empty() ? "RSA" : "EC") && view_of(members_, "crv") == curve;
}

bool public_key::verifies(const jwt& token) const
{
    if (!fits(token.algorithm())) return false;
    if (edwards_) return verifies_with_edwards(token);
    const std::unique_ptr<cjose_jws_t, signature_closer> read(
        cjose_jws_import(token.compact.data(), token.compact.size(), nullptr));
    if (!read) return false;
    const char* const algorithm = cjose_header_get(cjose_jws_get_protected(read.get()), CJOSE_HDR_ALG, nullptr);
    return algorithm != nullptr && algorithm == token.algorithm() && cjose_jws_verify(read.get(), key_.get(), nullptr);
}

bool public_key::verifies_with_edwards(const jwt& token) const
{
    const auto dot = token.compact.rfind('.');
    const auto signature = base64url_decode(std::string_view(token.compact).substr(dot + 1));
    const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free);
    if (!signature || !context) return false;
    return ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, edwards_.get()) == 1 &&
           ::EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature->data()),
                              signature->size(), reinterpret_cast<const unsigned char*>(token.compact.data()),
                              dot) == 1;
}

std::string public_key::thumbprint() const { return base64url_encode(sha256(json::serialize(members_))); }

}  // namespace cmcp::jose
