#include "test/outbound/web/origin.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace cmcp::test {
namespace {

using tcp = asio::ip::tcp;

std::string path_of(const std::string& request)
{
    const auto begin = request.find(' ') + 1;
    return request.substr(begin, request.find_first_of(" ?", begin) - begin);
}

std::size_t length_of_body(const std::string& header)
{
    const auto at = header.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(header.substr(at + 16));
}

template <class Stream>
awaitable<bool> play(Stream& stream, script steps)
{
    asio::steady_timer timer(stream.get_executor());
    for (const auto& one : steps) {
        if (one.is == step::kind::close) co_return false;
        if (one.is == step::kind::hang) timer.expires_at(asio::steady_timer::time_point::max());
        if (one.is == step::kind::hang) co_await timer.async_wait(asio::use_awaitable);
        std::size_t at = 0;
        do {
            const bool drips = one.is == step::kind::drip;
            const std::string piece = drips ? one.bytes.substr(at++, 1) : one.bytes;
            auto [failure, sent] = co_await asio::async_write(stream, asio::buffer(piece), as_tuple);
            if (failure) co_return false;
            if (one.pause.count() > 0) {
                timer.expires_after(one.pause);
                co_await timer.async_wait(asio::use_awaitable);
            }
            if (drips && at >= one.bytes.size()) break;
        } while (one.is != step::kind::send);
    }
    co_return true;
}

struct openssl_free {
    void operator()(EVP_PKEY* p) const { ::EVP_PKEY_free(p); }
    void operator()(X509* p) const { ::X509_free(p); }
    void operator()(BIO* p) const { ::BIO_free(p); }
};
template <class T>
using owned = std::unique_ptr<T, openssl_free>;

template <class T, class Write>
std::string pem(T* object, Write write)
{
    const owned<BIO> out(::BIO_new(::BIO_s_mem()));
    write(out.get(), object);
    char* text = nullptr;
    const long length = ::BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(length)};
}

void name_it(X509* certificate, X509_NAME* name, const std::string& common)
{
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common.c_str()), -1,
                                 -1, 0);
    ::X509_set_subject_name(certificate, name);
}

void extend(X509* certificate, int nid, const std::string& value)
{
    X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    ::X509_add_ext(certificate, extension, -1);
    ::X509_EXTENSION_free(extension);
}

owned<X509> make_certificate(EVP_PKEY* key, const std::string& common, long serial, int days)
{
    owned<X509> certificate(::X509_new());
    ::X509_set_version(certificate.get(), 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), serial);
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -3 * 86400);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), days * 86400l);
    ::X509_set_pubkey(certificate.get(), key);
    X509_NAME* name = ::X509_NAME_new();
    name_it(certificate.get(), name, common);
    ::X509_NAME_free(name);
    return certificate;
}

}  // namespace

std::string answer(std::string body, std::string type, std::string more, std::string status)
{
    return "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + more + "\r\n" + body;
}

origin::origin(asio::io_context& io, asio::ssl::context* tls)
    : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), tls_(tls), tasks_(io.get_executor())
{
    tasks_.spawn("origin", accept(this));
}

origin::~origin()
{
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    tasks_.cancel_all();
}

awaitable<> origin::accept(origin* self)
{
    for (;;) {
        auto client = co_await self->acceptor_.async_accept(asio::use_awaitable);
        ++self->connections;
        self->tasks_.spawn("origin client", serve_client(self, std::move(client)));
    }
}

awaitable<> origin::serve_client(origin* self, tcp::socket client)
{
    if (!self->greeting.empty()) co_await asio::async_write(client, asio::buffer(self->greeting), as_tuple);
    if (self->tls_ == nullptr) {
        co_await serve(self, client);
        co_return;
    }
    asio::ssl::stream<tcp::socket> stream(std::move(client), *self->tls_);
    auto [failure] = co_await stream.async_handshake(asio::ssl::stream_base::server, as_tuple);
    if (!failure) co_await serve(self, stream);
    co_await stream.async_shutdown(as_tuple);
}

script origin::script_for(const std::string& path)
{
    if (auto& first = first_[path]; !first.empty()) {
        script steps = std::move(first.front());
        first.pop_front();
        return steps;
    }
    const auto at = scripts_.find(path);
    return at == scripts_.end() ? send(answer("nothing here", "text/plain", {}, "404 Not Found")) : at->second;
}

template <class Stream>
awaitable<> origin::serve(origin* self, Stream& stream)
{
    std::string buffer;
    for (bool stays = true; stays;) {
        auto [failure, end] =
            co_await asio::async_read_until(stream, asio::dynamic_buffer(buffer), "\r\n\r\n", as_tuple);
        if (failure) co_return;
        const std::size_t whole = end + length_of_body(buffer.substr(0, end));
        if (buffer.size() < whole) {
            const auto missing = asio::transfer_exactly(whole - buffer.size());
            co_await asio::async_read(stream, asio::dynamic_buffer(buffer), missing, asio::use_awaitable);
        }
        const std::string request = buffer.substr(0, whole);
        buffer.erase(0, whole);
        self->requests.push_back(request);
        script steps = self->answers ? self->answers(request) : self->script_for(path_of(request));
        stays = co_await play(stream, std::move(steps));
    }
}

test_ca::test_ca(const std::string& name, int days)
{
    const owned<EVP_PKEY> ca_key(::EVP_EC_gen("P-256")), key(::EVP_EC_gen("P-256"));
    const auto authority = make_certificate(ca_key.get(), "Test CA", 1, 1);
    ::X509_set_issuer_name(authority.get(), ::X509_get_subject_name(authority.get()));
    extend(authority.get(), NID_basic_constraints, "critical,CA:TRUE");
    ::X509_sign(authority.get(), ca_key.get(), ::EVP_sha256());
    const auto certificate = make_certificate(key.get(), name, 2, days);
    ::X509_set_issuer_name(certificate.get(), ::X509_get_subject_name(authority.get()));
    const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
    extend(certificate.get(), NID_subject_alt_name, (is_address ? "IP:" : "DNS:") + name);
    ::X509_sign(certificate.get(), ca_key.get(), ::EVP_sha256());
    authority_pem = pem(authority.get(), [](BIO* out, X509* x) { ::PEM_write_bio_X509(out, x); });
    certificate_pem = pem(certificate.get(), [](BIO* out, X509* x) { ::PEM_write_bio_X509(out, x); });
    key_pem = pem(key.get(), [](BIO* out, EVP_PKEY* k) {
        ::PEM_write_bio_PrivateKey(out, k, nullptr, nullptr, 0, nullptr, nullptr);
    });
}

asio::ssl::context test_ca::server_context() const
{
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.use_certificate(asio::buffer(certificate_pem), asio::ssl::context::pem);
    context.use_private_key(asio::buffer(key_pem), asio::ssl::context::pem);
    return context;
}

}  // namespace cmcp::test
