#include "tls/server_certificate.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "test/support/certificates.hpp"
#include "test/support/log_lines.hpp"

#include <algorithm>
#include <filesystem>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

settings settings_of(const test::certificates::pair& pair)
{
    settings config;
    config.tls_cert = pair.certificate;
    config.tls_key = pair.key;
    return config;
}

std::string problem_of(const settings& config)
try {
    const server_certificate bad(config);
    return "none";
} catch (const certificate_problem& problem) {
    return problem.what();
}

bool says(const std::string& text, std::initializer_list<std::string> parts)
{
    INFO(text);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const auto& part) { return text.find(part) != std::string::npos; });
}

std::string subject_of(const server_certificate& own)
{
    const X509* shown = ::SSL_CTX_get0_certificate(own.context()->handle.get());
    char text[200] = "";
    ::X509_NAME_get_text_by_NID(::X509_get_subject_name(shown), NID_commonName, text, sizeof text);
    return text;
}

void replace(const test::certificates::pair& old, const test::certificates::pair& by)
{
    fs::rename(by.certificate, old.certificate);
    fs::rename(by.key, old.key);
}

}  // namespace

TEST_CASE("files of a certificate that are no good are named, with what to do")
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto good = files.signed_by(authority, "good", "localhost"), other = files.signed_by(authority, "other", "x");
    const auto missing = files.folder() / "missing.pem", text = files.file("text.pem", "no certificate");
    REQUIRE(problem_of(settings_of(good)) == "none");

    CHECK(says(problem_of(settings_of({missing, good.key})),
               {"TLS_CERT=" + missing.string(), "No such file", "name a PEM"}));
    CHECK(says(problem_of(settings_of({good.certificate, missing})), {"TLS_KEY=" + missing.string(), "No such file"}));
    CHECK(says(problem_of(settings_of({text, good.key})), {"TLS_CERT=" + text.string(), "holds no certificate"}));
    CHECK(says(problem_of(settings_of({good.certificate, text})), {"TLS_KEY=" + text.string(), "private key"}));
    CHECK(says(problem_of(settings_of({good.certificate, other.key})),
               {"TLS_KEY=" + other.key.string(), good.certificate.string()}));
    CHECK(says(problem_of(settings_of({files.folder(), good.key})), {"TLS_CERT=", "Is a directory"}));

    auto clients = settings_of(good);
    clients.tls_client_auth = "require";
    clients.tls_client_ca = text;
    CHECK(says(problem_of(clients), {"TLS_CLIENT_CA=" + text.string(), "authorities"}));
}

TEST_CASE("a new certificate is taken once its files have stayed the same")
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto used = files.signed_by(authority, "used", "first");
    const auto config = settings_of(used);
    server_certificate own(config);
    const auto before = own.context();
    own.look();
    CHECK(own.context() == before);

    const auto next = files.signed_by(authority, "next", "second");
    fs::rename(next.certificate, used.certificate);
    own.look();  // between the two files
    fs::rename(next.key, used.key);
    own.look();
    CHECK(own.context() == before);
    own.look();
    CHECK(own.context() != before);
    CHECK(subject_of(own) == "second");
    const auto after = own.context();
    own.look();
    CHECK(own.context() == after);
}

TEST_CASE("a link that is exchanged on the way to the files changes the certificate")
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    for (const std::string version : {"1", "2"}) {
        fs::create_directory(files.folder() / ("v" + version));
        const auto fresh = files.signed_by(authority, version, "version " + version);
        fs::rename(fresh.certificate, files.folder() / ("v" + version) / "tls.crt");
        fs::rename(fresh.key, files.folder() / ("v" + version) / "tls.key");
    }
    fs::create_symlink("v1", files.folder() / "..data");
    for (const char* name : {"tls.crt", "tls.key"})
        fs::create_symlink(fs::path("..data") / name, files.folder() / name);
    const auto config = settings_of({files.folder() / "tls.crt", files.folder() / "tls.key"});
    server_certificate own(config);
    CHECK(subject_of(own) == "version 1");
    fs::create_symlink("v2", files.folder() / "..next");
    fs::rename(files.folder() / "..next", files.folder() / "..data");
    own.look();
    own.look();
    CHECK(subject_of(own) == "version 2");
}

TEST_CASE("a bad new pair keeps the former one and is logged once")
{
    const test::log_lines log;
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto used = files.signed_by(authority, "used", "first");
    const auto config = settings_of(used);
    server_certificate own(config);
    const auto before = own.context();
    files.file("used.key", "nothing");
    for (int i = 0; i < 5; ++i) own.look();
    CHECK(own.context() == before);
    CHECK(says(test::member_text(log.only("tls_certificate_kept"), "reason"), {"TLS_KEY=" + used.key.string()}));

    replace(used, files.signed_by(authority, "good", "third"));
    own.reload();
    CHECK(subject_of(own) == "third");
}

TEST_CASE("a certificate whose time is over is told")
{
    const test::log_lines log;
    test::certificates files;
    const auto config = settings_of(files.signed_by(files.authority("ca", "an authority"), "old", "x", "DNS:x", 1));
    const server_certificate own(config);
    CHECK_FALSE(own.context()->in_its_time);
    own.tell();
    CHECK(test::member_text(log.only("tls_certificate_out_of_time"), "file") == config.tls_cert.string());
}

TEST_CASE("the folders of certificates are those of the names and those behind links")
{
    test::certificates files;
    fs::create_directory(files.folder() / "live");
    const auto pair = files.authority("ca", "an authority");
    fs::create_symlink(pair.certificate, files.folder() / "live/cert.pem");
    const auto config = settings_of({files.folder() / "live/cert.pem", pair.key});
    const auto folder = fs::canonical(files.folder()).string();
    const auto all = server_certificate::folders(config);
    CHECK(std::count(all.begin(), all.end(), folder) == 1);
    CHECK(std::count(all.begin(), all.end(), (files.folder() / "live").string()) == 1);
    CHECK(server_certificate::folders(settings()).empty());
    CHECK(says(problem_of(settings_of({"/cert.pem", "/cert.key"})), {"folder of their own"}));
}

}  // namespace cmcp
