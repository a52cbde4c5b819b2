#include "egress/cell_authority.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <string_view>

namespace cmcp {
namespace {

namespace ssl = boost::asio::ssl;

constexpr long second_of_day = 24 * 60 * 60;
constexpr long days_of_authority = 3650;  // it ends with this process
constexpr std::size_t most_leaves = 64;
constexpr std::chrono::hours leaf_use{12};

struct free_bio {
    void operator()(BIO* object) const { ::BIO_free(object); }
    void operator()(BIGNUM* object) const { ::BN_free(object); }
    void operator()(X509_EXTENSION* object) const { ::X509_EXTENSION_free(object); }
};

void must(bool right)
{
    if (!right) throw std::runtime_error("the library makes no certificates");
}

void set_random_serial(X509& certificate)
{
    const std::unique_ptr<BIGNUM, free_bio> number(::BN_new());
    must(number && ::BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(&certificate)) != nullptr);
}

void set_name(X509_NAME& into, const std::string& name)
{
    // RFC 5280 appendix A: a common name has 64 characters at most, and it is for people.
    const std::string text = name.substr(0, 64);
    must(::X509_NAME_add_entry_by_NID(&into, NID_commonName, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1);
}

void extend(X509& certificate, X509& issuer, int extension, const std::string& value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, free_bio> made_of_text(
        ::X509V3_EXT_nconf_nid(nullptr, &context, extension, value.c_str()));
    must(made_of_text && ::X509_add_ext(&certificate, made_of_text.get(), -1) == 1);
}

void begin(X509& certificate, const std::string& name, EVP_PKEY& key, long seconds)
{
    must(::X509_set_version(&certificate, X509_VERSION_3) == 1);
    set_random_serial(certificate);
    set_name(*::X509_get_subject_name(&certificate), name);
    // Clocks of a cell are this machine's; an hour is for those that look at whole hours.
    must(::X509_gmtime_adj(::X509_getm_notBefore(&certificate), -60 * 60) != nullptr &&
         ::X509_gmtime_adj(::X509_getm_notAfter(&certificate), seconds) != nullptr &&
         ::X509_set_pubkey(&certificate, &key) == 1);
}

// RFC 7301 section 3.2. A client that speaks HTTP/2 alone gets an alert at once.
int choose_protocol(SSL*, const unsigned char** chosen_name, unsigned char* size, const unsigned char* offered,
                    unsigned int length, void*)
{
    constexpr std::string_view wanted("\x08http/1.1\x08http/1.0", 18);
    unsigned char* name = nullptr;
    const bool agreed =
        ::SSL_select_next_proto(&name, size, reinterpret_cast<const unsigned char*>(wanted.data()),
                                static_cast<unsigned>(wanted.size()), offered, length) == OPENSSL_NPN_NEGOTIATED;
    *chosen_name = name;
    return agreed ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

void cell_authority::free_openssl::operator()(evp_pkey_st* key) const { ::EVP_PKEY_free(key); }
void cell_authority::free_openssl::operator()(x509_st* certificate) const { ::X509_free(certificate); }

cell_authority::key_handle cell_authority::make_key()
{
    key_handle key(::EVP_EC_gen("P-256"));
    must(key != nullptr);
    return key;
}

cell_authority::cell_authority(const std::string& cell) : key_(make_key()), certificate_(::X509_new())
{
    must(certificate_ != nullptr);
    X509& own = *certificate_;
    begin(own, "container-mcp " + cell, *key_, days_of_authority * second_of_day);
    must(::X509_set_issuer_name(&own, ::X509_get_subject_name(&own)) == 1);
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(own, own, NID_key_usage, "critical,keyCertSign");
    extend(own, own, NID_subject_key_identifier, "hash");
    must(::X509_sign(&own, key_.get(), ::EVP_sha256()) > 0);
    pem_ = pem_of(own);
}

std::string cell_authority::pem_of(x509_st& certificate)
{
    const std::unique_ptr<BIO, free_bio> memory(::BIO_new(::BIO_s_mem()));
    must(memory && ::PEM_write_bio_X509(memory.get(), &certificate) == 1);
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

cell_authority::certificate_handle cell_authority::certify(const std::string& name, evp_pkey_st& key) const
{
    certificate_handle signed_one(::X509_new());
    must(signed_one != nullptr);
    X509 &leaf_certificate = *signed_one, &issuer = *certificate_;
    begin(leaf_certificate, name, key, second_of_day);
    must(::X509_set_issuer_name(&leaf_certificate, ::X509_get_subject_name(&issuer)) == 1);
    extend(leaf_certificate, issuer, NID_basic_constraints, "critical,CA:FALSE");
    extend(leaf_certificate, issuer, NID_key_usage, "critical,digitalSignature");
    extend(leaf_certificate, issuer, NID_ext_key_usage, "serverAuth");
    extend(leaf_certificate, issuer, NID_subject_alt_name, "DNS:" + name);
    extend(leaf_certificate, issuer, NID_subject_key_identifier, "hash");
    extend(leaf_certificate, issuer, NID_authority_key_identifier, "keyid:always");
    must(::X509_sign(&leaf_certificate, key_.get(), ::EVP_sha256()) > 0);
    return signed_one;
}

std::shared_ptr<ssl::context> cell_authority::make_context(const std::string& name) const
{
    auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    SSL_CTX* const handle = context->native_handle();
    const auto key = make_key();
    const auto certificate = certify(name, *key);
    must(::SSL_CTX_use_certificate(handle, certificate.get()) == 1 && ::SSL_CTX_use_PrivateKey(handle, key.get()) == 1);
    SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_options(handle, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    ::SSL_CTX_set_alpn_select_cb(handle, choose_protocol, nullptr);
    return context;
}

std::shared_ptr<ssl::context> cell_authority::context_for(const std::string& name)
{
    const auto now = clock::now();
    std::erase_if(leaves_, [&](const auto& each) { return each.second.since + leaf_use < now; });
    if (leaves_.size() > most_leaves) leaves_.clear();
    auto& cached = leaves_[name];
    if (!cached.context) cached = {make_context(name), now};
    return cached.context;
}

}  // namespace cmcp
