#include "tls/client_certificate.hpp"

#include "text/encodings.hpp"
#include "text/principal_name.hpp"
#include "tls/openssl_handles.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <openssl/evp.h>

namespace cmcp {

namespace {

std::string_view text_of(const ASN1_STRING* text)
{
    return {reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

// Nothing: there is no name of this kind; empty: there is, and it is not fit.
std::optional<std::string> alternative_name(const GENERAL_NAMES* names, int kind)
{
    std::optional<std::string> name;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        int type = 0;
        const void* value = ::GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
        if (type != kind) continue;
        const auto text = text_of(static_cast<const ASN1_STRING*>(value));
        if (can_be_principal(text)) return std::string(text);
        name.emplace();
    }
    return name;
}

std::string common_name(X509* certificate)
{
    const X509_NAME* subject = ::X509_get_subject_name(certificate);
    const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return {};
    unsigned char* utf8 = nullptr;
    const int length = ::ASN1_STRING_to_UTF8(&utf8, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
    if (length < 0) return {};
    std::string name(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(length));
    ::OPENSSL_free(utf8);
    return can_be_principal(name) ? name : std::string();
}

// The first kind that is there counts: where its names are not fit, the others would be a guess.
std::string name_of(X509* certificate)
{
    const general_names_handle names(
        static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (const int kind : {GEN_URI, GEN_DNS, GEN_EMAIL}) {
        if (!names) break;
        auto name = alternative_name(names.get(), kind);
        if (name) return *std::move(name);
    }
    return common_name(certificate);
}

std::string base64url(std::string_view bytes)
{
    std::string text = base64_encode(bytes);
    while (text.ends_with('=')) text.pop_back();
    std::replace(text.begin(), text.end(), '+', '-');
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
}

std::string thumbprint_of(const X509* certificate)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (::X509_digest(certificate, ::EVP_sha256(), digest.data(), &size) != 1) return {};
    return base64url({reinterpret_cast<const char*>(digest.data()), size});
}

// A resumed session brings the certificate of its first handshake, which may have ended since.
bool is_in_its_time(const X509* certificate)
{
    return ::X509_cmp_current_time(::X509_get0_notBefore(certificate)) < 0 &&
           ::X509_cmp_current_time(::X509_get0_notAfter(certificate)) > 0;
}

}  // namespace

client_certificate read_client_certificate(X509* certificate)
{
    return {name_of(certificate), thumbprint_of(certificate)};
}

std::optional<client_certificate> client_certificate_of(const SSL* connection)
{
    const x509_handle sent(::SSL_get1_peer_certificate(connection));
    const bool verifies = (::SSL_get_verify_mode(connection) & SSL_VERIFY_PEER) != 0;
    if (!sent || !verifies || ::SSL_get_verify_result(connection) != X509_V_OK || !is_in_its_time(sent.get()))
        return std::nullopt;
    return read_client_certificate(sent.get());
}

}  // namespace cmcp
