#include "tls/client_certificate.hpp"

#include "test/support/catch.hpp"
#include "test/support/certificates.hpp"
#include "tls/openssl_handles.hpp"

#include <openssl/pem.h>

#include <algorithm>
#include <cstdio>

namespace cmcp {

namespace {

x509_handle read(const std::filesystem::path& name)
{
    std::FILE* file = std::fopen(name.c_str(), "r");
    x509_handle certificate(::PEM_read_X509(file, nullptr, nullptr, nullptr));
    std::fclose(file);
    REQUIRE(certificate);
    return certificate;
}

std::string name_in(const std::string& subject, const std::string& alternatives)
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto client = files.signed_by(authority, "client", subject, alternatives);
    return read_client_certificate(read(client.certificate).get()).name;
}

}  // namespace

TEST_CASE("a client's name is its first URI, else DNS name, else mail address, else common name")
{
    CHECK(name_in("ann", "email:ann@example.org,DNS:ann.example.org,URI:spiffe://example.org/ann,URI:urn:2") ==
          "spiffe://example.org/ann");
    CHECK(name_in("ann", "email:ann@example.org,DNS:ann.example.org") == "ann.example.org");
    CHECK(name_in("ann", "email:ann@example.org,IP:127.0.0.1") == "ann@example.org");
    CHECK(name_in("ann", "IP:127.0.0.1") == "ann");
    CHECK(name_in("ann", "") == "ann");
}

TEST_CASE("a name that could be taken for something else is none")
{
    CHECK(name_in("(server)", "").empty());
    CHECK(name_in("ann smith", "").empty());
    CHECK(name_in("ann\nadmin", "").empty());
    CHECK(name_in("\xc3\xa4nn", "").empty());
    CHECK(name_in("ann", "URI:a b").empty());
    CHECK(name_in("ann", "URI:a b,DNS:ann.example.org").empty());
}

TEST_CASE("a thumbprint has the form of RFC 8705")
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto first = read(files.signed_by(authority, "1", "ann").certificate);
    const auto second = read(files.signed_by(authority, "2", "ann").certificate);
    const auto print = read_client_certificate(first.get()).thumbprint;
    CHECK(print.size() == 43);
    CHECK(std::all_of(print.begin(), print.end(),
                      [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }));
    CHECK(print == read_client_certificate(first.get()).thumbprint);
    CHECK(print != read_client_certificate(second.get()).thumbprint);
}

}  // namespace cmcp
