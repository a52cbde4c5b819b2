#include "test/support/certificates.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace cmcp::test {

namespace {

template <auto Free>
struct freeing {
    template <class T>
    void operator()(T* object) const
    {
        Free(object);
    }
};
using key_handle = std::unique_ptr<EVP_PKEY, freeing<&::EVP_PKEY_free>>;
using certificate_handle = std::unique_ptr<X509, freeing<&::X509_free>>;
using file_handle = std::unique_ptr<std::FILE, freeing<&std::fclose>>;

file_handle opened(const std::filesystem::path& name, const char* mode)
{
    file_handle file(std::fopen(name.c_str(), mode));
    if (!file) throw std::runtime_error("cannot open " + name.string());
    return file;
}

void add_extension(X509* certificate, int kind, const std::string& value)
{
    X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    if (extension == nullptr) throw std::runtime_error("no extension " + value);
    ::X509_add_ext(certificate, extension, -1);
    ::X509_EXTENSION_free(extension);
}

certificate_handle new_certificate(EVP_PKEY* key, const std::string& subject, int days)
{
    constexpr long day = 24 * 3600;
    static long serial = 1;
    certificate_handle fresh(::X509_new());
    ::X509_set_version(fresh.get(), 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(fresh.get()), ++serial);
    ::X509_gmtime_adj(::X509_getm_notBefore(fresh.get()), -2 * day);
    ::X509_gmtime_adj(::X509_getm_notAfter(fresh.get()), (days - 1) * day);
    ::X509_set_pubkey(fresh.get(), key);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(fresh.get()), "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
    return fresh;
}

certificates::pair write(const std::filesystem::path& folder, const std::string& name, X509* certificate, EVP_PKEY* key)
{
    const certificates::pair files{folder / (name + ".pem"), folder / (name + ".key")};
    ::PEM_write_X509(opened(files.certificate, "w").get(), certificate);
    ::PEM_write_PrivateKey(opened(files.key, "w").get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return files;
}

}  // namespace

certificates::certificates()
{
    std::string name = (std::filesystem::temp_directory_path() / "cmcp-certificates-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    folder_ = name;
}

certificates::~certificates() { std::filesystem::remove_all(folder_); }

certificates::pair certificates::authority(const std::string& name, const std::string& subject)
{
    const key_handle key(EVP_EC_gen("P-256"));
    const auto fresh = new_certificate(key.get(), subject, 30);
    ::X509_set_issuer_name(fresh.get(), ::X509_get_subject_name(fresh.get()));
    add_extension(fresh.get(), NID_basic_constraints, "critical,CA:TRUE");
    ::X509_sign(fresh.get(), key.get(), ::EVP_sha256());
    return write(folder_, name, fresh.get(), key.get());
}

certificates::pair certificates::signed_by(const pair& authority, const std::string& name, const std::string& subject,
                                           const std::string& alternatives, int days)
{
    const certificate_handle issuer(
        ::PEM_read_X509(opened(authority.certificate, "r").get(), nullptr, nullptr, nullptr));
    const key_handle issuer_key(::PEM_read_PrivateKey(opened(authority.key, "r").get(), nullptr, nullptr, nullptr));
    const key_handle key(EVP_EC_gen("P-256"));
    const auto fresh = new_certificate(key.get(), subject, days);
    ::X509_set_issuer_name(fresh.get(), ::X509_get_subject_name(issuer.get()));
    if (!alternatives.empty()) add_extension(fresh.get(), NID_subject_alt_name, alternatives);
    ::X509_sign(fresh.get(), issuer_key.get(), ::EVP_sha256());
    return write(folder_, name, fresh.get(), key.get());
}

std::filesystem::path certificates::file(const std::string& name, const std::string& content)
{
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

}  // namespace cmcp::test
