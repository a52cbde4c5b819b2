// Not run by itself: test_identity "[cost]" prints what a look at credentials that were seen before takes.
#include "identity/identity_store.hpp"
#include "test/access/identity/issuer_rig.hpp"

#include "test/support/catch.hpp"

#include <iostream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// `digests`: of a connection that has brought the token before.
double microseconds(gatekeeper& logins, const std::string& token, digest_memo* digests = nullptr)
{
    constexpr int times = 200'000;
    credentials of;
    of.scheme = "bearer";
    of.token = token;
    of.digests = digests;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i)
        if (!logins.judge(of).who) throw std::runtime_error("refused");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count() / times;
}

}  // namespace

TEST_CASE("the cost of a token that was seen before", "[.][cost]")
{
    issuer_rig as;
    const auto token = issuer_rig::good_token();
    REQUIRE(as.takes(token));
    std::cout << "an issuer's token of " << token.size() << " bytes: " << microseconds(*as.logins, token) << " us\n";
    digest_memo of_connection;
    std::cout << "the same on a connection that has brought it before: "
              << microseconds(*as.logins, token, &of_connection) << " us\n";
    const auto digest_began = std::chrono::steady_clock::now();
    for (int i = 0; i < 200'000; ++i) sha256(token);
    const std::chrono::duration<double, std::micro> digests = std::chrono::steady_clock::now() - digest_began;
    std::cout << "  of that its digest: " << digests.count() / 200'000 << " us\n";
}
