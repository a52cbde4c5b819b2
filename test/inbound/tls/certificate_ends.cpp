#include "tls/certificate_ends.hpp"

#include "config/settings.hpp"
#include "metrics/registry.hpp"
#include "test/support/catch.hpp"
#include "test/support/certificates.hpp"
#include "test/support/log_lines.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace cmcp;

namespace {

constexpr std::time_t day = 24 * 3600;

/// A server of a cluster whose own certificate ends in `days`, and its authority's in 29.
struct member_certificates {
    explicit member_certificates(int days) : own(files.signed_by(authority, "n1", "n1", "DNS:n1", days + 1))
    {
        config.cluster_etcd = {"https://127.0.0.1:1"};
        config.cluster_cert = own.certificate;
        config.cluster_ca = authority.certificate;
    }

    test::certificates files;
    test::certificates::pair authority{files.authority("ca", "the members")};
    test::certificates::pair own;
    settings config;
};

std::int64_t days_left(const json::array& rows, std::string_view name)
{
    for (const auto& each : rows)
        if (each.at("certificate").as_string() == name) return each.at("days_left").to_number<std::int64_t>();
    return -1;
}

}  // namespace

TEST_CASE("a certificate that ends within 30 days is warned of once a day, and no more once it is renewed")
{
    const auto now = std::time(nullptr);
    member_certificates files(20);
    files.config.cluster_ca.clear();
    certificate_ends all(files.config);
    const auto warnings = [&all](std::time_t when) {
        const test::log_lines log;
        all.look(when);
        return log.of("certificate_ends_soon").size();
    };
    CHECK(warnings(now - 11 * day) == 0);  // 31 days before the end
    CHECK(warnings(now) == 1);
    CHECK(warnings(now + 60) == 0);
    CHECK(warnings(now + day - 1) == 0);
    CHECK(warnings(now + day) == 1);
    const auto next = files.files.signed_by(files.authority, "next", "n1", "DNS:n1", 400);
    std::filesystem::rename(next.certificate, files.own.certificate);
    CHECK(warnings(now + 2 * day) == 0);
}

TEST_CASE("what is left of certificates is a figure, and a row for people")
{
    const auto now = std::time(nullptr);
    member_certificates files(20);
    certificate_ends all(files.config);
    CHECK(all.described(now).empty());
    all.look(now);
    const auto rows = all.described(now);
    REQUIRE(rows.size() == 2);
    CHECK((days_left(rows, "cluster") == 19 || days_left(rows, "cluster") == 20));
    CHECK(rows.at(0).at("file").as_string() == files.own.certificate.string());
    auto& figures = metrics::all().gauges("cmcp_certificate_expiry_seconds", "", {"certificate"});
    CHECK(std::abs(figures.at({"cluster"}).value() - 20 * day) < 60);
    CHECK(figures.at({"cluster_ca"}).value() > 20 * day);

    const auto bundle = files.files.file("both.pem", "no certificate");
    CHECK_FALSE(end_of_certificates(bundle));
    CHECK_FALSE(end_of_certificates(files.files.folder() / "missing.pem"));
    files.config.cluster_cert = bundle;
    certificate_ends bad(files.config);
    bad.look(now);
    CHECK(bad.described(now).size() == 1);
}

TEST_CASE("of a file with several certificates the first end counts")
{
    test::certificates files;
    const auto authority = files.authority("ca", "an authority");
    const auto late = files.signed_by(authority, "late", "x", "DNS:x", 300);
    const auto early = files.signed_by(authority, "early", "x", "DNS:x", 10);
    const auto text = [](const std::filesystem::path& file) {
        std::ifstream in(file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const auto both = files.file("both.pem", text(late.certificate) + text(early.certificate));
    CHECK(end_of_certificates(both) == end_of_certificates(early.certificate));
    CHECK(*end_of_certificates(both) < *end_of_certificates(late.certificate));
}
