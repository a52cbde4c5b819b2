#include "tls/server_certificate.hpp"

#include "config/http_settings.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"
#include "tls/tls_problem.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <unistd.h>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

constexpr long seconds_of_a_session = 7200;
constexpr std::string_view alpn = "\x08http/1.1";

// For TLS 1.2: an exchange of keys that looks forward, and encryption with authentication.
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";

std::string named(std::string_view setting, const fs::path& file) { return std::string(setting) + "=" + file.string(); }

void require_readable(std::string_view setting, const fs::path& file, std::string_view advice)
{
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    std::error_code error(descriptor < 0 ? errno : 0, std::generic_category());
    if (descriptor >= 0) ::close(descriptor);
    if (!error && fs::is_directory(file, error)) error = std::make_error_code(std::errc::is_a_directory);
    if (!error) return;
    throw certificate_problem(named(setting, file) + " cannot be read (" + error.message() +
                              "): " + std::string(advice));
}

void check(bool good, const std::string& what, std::string_view advice)
{
    if (!good) throw certificate_problem(what + " (" + tls_problem() + "): " + std::string(advice));
}

// Nobody is there to type a password.
int no_password(char*, int, int, void*) { return -1; }

void use_pair(SSL_CTX* context, const http_settings& config)
{
    constexpr auto about_certificate =
        "name a PEM file that holds the server's certificate, and behind it those of its issuers";
    constexpr auto about_key = "name a PEM file that holds the certificate's private key without a password";
    require_readable("TLS_CERT", config.tls_cert, about_certificate);
    require_readable("TLS_KEY", config.tls_key, about_key);
    check(::SSL_CTX_use_certificate_chain_file(context, config.tls_cert.c_str()) == 1,
          named("TLS_CERT", config.tls_cert) + " holds no certificate that can be used", about_certificate);
    check(::SSL_CTX_use_PrivateKey_file(context, config.tls_key.c_str(), SSL_FILETYPE_PEM) == 1 &&
              ::SSL_CTX_check_private_key(context) == 1,
          named("TLS_KEY", config.tls_key) + " holds no private key of the certificate in " +
              named("TLS_CERT", config.tls_cert),
          about_key);
}

// The name of the rules by which a client was verified: sessions of other rules are not resumed.
void name_sessions(SSL_CTX* context, const http_settings& config)
{
    std::ifstream authorities(config.tls_client_ca, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(authorities), {}};
    const auto name = sha256_hex(config.tls_client_auth + text).substr(0, SSL_MAX_SID_CTX_LENGTH);
    ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(name.data()),
                                     static_cast<unsigned>(name.size()));
}

void ask_clients(SSL_CTX* context, const http_settings& config)
{
    name_sessions(context, config);
    if (config.tls_client_auth == "off") return;
    constexpr auto advice = "name a PEM file that holds the certificates of the authorities that sign those of clients";
    require_readable("TLS_CLIENT_CA", config.tls_client_ca, advice);
    auto* authorities = ::SSL_load_client_CA_file(config.tls_client_ca.c_str());
    check(
        authorities != nullptr && ::SSL_CTX_load_verify_locations(context, config.tls_client_ca.c_str(), nullptr) == 1,
        named("TLS_CLIENT_CA", config.tls_client_ca) + " holds no certificate that can be used", advice);
    ::SSL_CTX_set_client_CA_list(context, authorities);
    const int mode = SSL_VERIFY_PEER | (config.tls_client_auth == "require" ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    ::SSL_CTX_set_verify(context, mode, nullptr);
}

int choose_protocol(SSL*, const unsigned char** protocol, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void*)
{
    const auto* ours = reinterpret_cast<const unsigned char*>(alpn.data());
    unsigned char* common = nullptr;
    const int result = ::SSL_select_next_proto(&common, size, ours, alpn.size(), offered, offered_size);
    *protocol = common;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool begin_ticket(const ticket_keys::key& with, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                  int making)
{
    std::array<char, 7> digest{"SHA256"};
    auto secret = with.mac;
    const OSSL_PARAM parameters[] = {
        ::OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret.data(), secret.size()),
        ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), ::OSSL_PARAM_construct_end()};
    return ::EVP_MAC_CTX_set_params(mac, parameters) == 1 &&
           ::EVP_CipherInit_ex(cipher, ::EVP_aes_256_cbc(), nullptr, with.cipher.data(), iv, making) == 1;
}

// SSL_CTX_set_tlsext_ticket_key_evp_cb(3) says what is returned. A handshake may be on any thread.
int ticket_key(SSL* connection, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
               int making)
try {
    auto& keys = *static_cast<ticket_keys*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(connection)));
    if (making != 0) {
        const auto key = keys.to_make();
        std::copy(key.name.begin(), key.name.end(), name);
        const bool good = ::RAND_bytes(iv, ::EVP_CIPHER_get_iv_length(::EVP_aes_256_cbc())) == 1 &&
                          begin_ticket(key, iv, cipher, mac, 1);
        return good ? 1 : -1;
    }
    const auto key = keys.to_open(name);
    if (!key) return 0;
    if (!begin_ticket(key->is, iv, cipher, mac, 0)) return -1;
    return key->old ? 2 : 1;
} catch (const std::exception&) {
    return -1;  // OpenSSL cannot be left by an exception
}

void keep_sessions(SSL_CTX* context, ticket_keys& tickets)
{
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // clients keep them, as tickets
    ::SSL_CTX_set_timeout(context, seconds_of_a_session);
    ::SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_app_data(context, &tickets);
    ::SSL_CTX_set_tlsext_ticket_key_evp_cb(context, ticket_key);
}

void set_rules(SSL_CTX* context, const http_settings& config)
{
    SSL_CTX_set_min_proto_version(context, config.tls_min == "1.2" ? TLS1_2_VERSION : TLS1_3_VERSION);
    ::SSL_CTX_set_cipher_list(context, ciphers_of_1_2);
    ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // A waiting connection holds no buffers, and a repeated write may pass its bytes at another address.
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    ::SSL_CTX_set_default_passwd_cb(context, no_password);
    ::SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

void note_time(tls_context& into)
{
    const X509* certificate = ::SSL_CTX_get0_certificate(into.handle.get());
    const ASN1_TIME* end = ::X509_get0_notAfter(certificate);
    into.in_its_time =
        ::X509_cmp_current_time(::X509_get0_notBefore(certificate)) < 0 && ::X509_cmp_current_time(end) > 0;
    const std::unique_ptr<BIO, openssl_free<&::BIO_free>> text(::BIO_new(::BIO_s_mem()));
    if (!text || ::ASN1_TIME_print(text.get(), end) != 1) return;
    char* begin = nullptr;
    const long size = BIO_get_mem_data(text.get(), &begin);
    into.ends.assign(begin, static_cast<std::size_t>(size));
}

// By TLS_CERT, TLS_KEY, TLS_MIN, TLS_CLIENT_CA and TLS_CLIENT_AUTH. Throws certificate_problem.
std::shared_ptr<const tls_context> make_tls_context(const http_settings& config, std::shared_ptr<ticket_keys> tickets)
{
    auto fresh = std::make_shared<tls_context>();
    fresh->handle.reset(::SSL_CTX_new(::TLS_server_method()));
    fresh->tickets = std::move(tickets);
    SSL_CTX* context = fresh->handle.get();
    if (context == nullptr) throw certificate_problem("TLS cannot be used: " + tls_problem());
    set_rules(context, config);
    use_pair(context, config);
    ask_clients(context, config);
    keep_sessions(context, *fresh->tickets);
    note_time(*fresh);
    return fresh;
}

namespace fs = std::filesystem;

constexpr std::chrono::hours ticket_period(2);

std::vector<fs::path> files_of(const http_settings& config)
{
    std::vector<fs::path> files{config.tls_cert, config.tls_key};
    if (!config.tls_client_ca.empty()) files.push_back(config.tls_client_ca);
    return files;
}

}  // namespace

bool server_certificate::file_state::operator==(const file_state& other) const
{
    return device == other.device && inode == other.inode && size == other.size &&
           written.tv_sec == other.written.tv_sec && written.tv_nsec == other.written.tv_nsec;
}

server_certificate::server_certificate(const http_settings& config)
    : config_(config), tickets_(std::make_shared<ticket_keys>(ticket_period))
{
    const auto places = folders(config);
    if (std::find(places.begin(), places.end(), "/") != places.end())
        throw certificate_problem(
            "A file of TLS_CERT, TLS_KEY or TLS_CLIENT_CA lies in the folder /: put these files into a folder of their "
            "own, because the confined server may read the whole folder");
    read();
}

// stat() follows symbolic links, so the change of a link on the way (Kubernetes exchanges `..data`) is a change, too.
server_certificate::states server_certificate::seen() const
{
    states all;
    for (const auto& file : files_of(config_)) {
        struct stat status {};
        if (::stat(file.c_str(), &status) == 0)
            all.push_back({status.st_dev, status.st_ino, status.st_size, status.st_mtim});
        else
            all.emplace_back();
    }
    return all;
}

// The state comes first: files that change while they are read count as changed.
void server_certificate::read()
{
    read_at_ = looked_at_ = seen();
    context_ = make_tls_context(config_, tickets_);
}

void server_certificate::tell() const
{
    const json::string file(config_.tls_cert.string());
    log::info("tls_certificate", {{"file", file}, {"ends", json::string(context_->ends)}});
    if (!context_->in_its_time)
        log::warning("tls_certificate_out_of_time",
                     {{"file", file},
                      {"advice", "clients refuse it: put a valid certificate there, or set this machine's clock"}});
}

void server_certificate::reload()
try {
    read();
    tell();
} catch (const std::exception& problem) {
    log::error("tls_certificate_kept", {{"reason", problem.what()},
                                        {"advice", "the former certificate stays in use until the files are good"}});
}

void server_certificate::look()
{
    auto now = seen();
    const bool settled = now == looked_at_;
    looked_at_ = std::move(now);
    if (settled && looked_at_ != read_at_) reload();
}

std::vector<std::string> server_certificate::folders(const http_settings& config)
{
    std::vector<std::string> all;
    if (config.tls_cert.empty()) return all;
    for (const auto& file : files_of(config)) {
        std::error_code absent;
        for (const auto& place : {fs::absolute(file), fs::canonical(file, absent)})
            if (!place.empty()) all.push_back(place.parent_path().string());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace cmcp
