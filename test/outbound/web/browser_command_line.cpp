#include "web/browser_process.hpp"

#include "jsonrpc/json.hpp"
#include "test/support/catch.hpp"

#include <algorithm>

using namespace cmcp;

TEST_CASE("the browser is started with a pipe, a proxy without exceptions and its own sandbox")
{
    const auto argv = browser_command_line("/opt/b", "/p", 3128);
    const auto has = [&](const std::string& text) { return std::find(argv.begin(), argv.end(), text) != argv.end(); };
    CHECK(argv.at(0) == "/opt/b");
    CHECK(has("--remote-debugging-pipe"));
    CHECK(has("--proxy-server=http://127.0.0.1:3128"));
    CHECK(has("--proxy-bypass-list=<-loopback>"));
    CHECK(has("--user-data-dir=/p"));
    for (const auto& each : argv) {
        CHECK_FALSE(each.starts_with("--remote-debugging-port"));
        CHECK_FALSE(each.starts_with("--no-sandbox"));
    }
}

TEST_CASE("the browser's policy holds each certificate of a PEM file as base64 of DER")
{
    const std::string pem =
        "text\n-----BEGIN CERTIFICATE-----\nQUJD\nREVG\n-----END CERTIFICATE-----\n"
        "-----BEGIN CERTIFICATE-----\r\nR0hJ\r\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\ncut";
    const auto policy = json::parse(browser_policy(pem)).as_object();
    CHECK(policy.at("CACertificates") == json::array{"QUJDREVG", "R0hJ"});
    CHECK_FALSE(json::parse(browser_policy("")).as_object().contains("CACertificates"));
    CHECK(policy.at("DownloadRestrictions") == 3);
}
