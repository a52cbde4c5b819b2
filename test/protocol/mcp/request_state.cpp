#include "mcp/attempt_state.hpp"

#include "test/protocol/mcp/harness.hpp"
#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

bool opens(const request_state& by, const std::string& sealed)
{
    try {
        return by.open(sealed) == parse(R"({"a":1})");
    } catch (const rpc_error& refused) {
        CHECK(refused.code == rpc_code::invalid_params);
        return false;
    }
}

std::string sealed_by(const request_state& seal) { return seal.seal(parse(R"({"a":1})")); }

}  // namespace

TEST_CASE("a state is opened where the secret is that of its seal, and else only where it was sealed")
{
    const request_state one("secret"), same("secret"), other("secret2"), alone, also_alone;
    CHECK(opens(same, sealed_by(one)));
    CHECK_FALSE(opens(other, sealed_by(one)));
    CHECK_FALSE(opens(alone, sealed_by(one)));
    CHECK_FALSE(opens(one, sealed_by(alone)));
    CHECK(opens(alone, sealed_by(alone)));
    CHECK_FALSE(opens(also_alone, sealed_by(alone)));
}

TEST_CASE("a changed state is refused whatever the key")
{
    for (const request_state& seal : {request_state("secret"), request_state()}) {
        const auto sealed = sealed_by(seal);
        REQUIRE(opens(seal, sealed));
        CHECK_FALSE(opens(seal, sealed + "x"));
        CHECK_FALSE(opens(seal, "x" + sealed));
        CHECK_FALSE(opens(seal, sealed.substr(0, sealed.find('.'))));
        CHECK_FALSE(opens(seal, ""));
    }
}
