#include "config/former_settings.hpp"

#include "config/principal_limits.hpp"
#include "config/setting.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a name of earlier versions is no setting, and says what holds now")
{
    for (const auto& former : former_settings()) {
        INFO(former.name);
        CHECK(find_setting(former.name) == nullptr);
        CHECK(find_former_setting(former.name) == &former);
        CHECK(former.now.empty() == (find_limit(former.quota) != nullptr));
    }
}

TEST_CASE("who still sets a name of earlier versions is warned once, and the server starts")
{
    config_case c;
    c.from.variables["SANDBOX_KERNEL_CPU"] = "10";
    c.toml_file("[limits]\njson_max_depth = 32\n");
    c.from.command_line = {{"HTTP_BODY_TIMEOUT", "5", "--set"}};
    const auto loaded = c.load();
    REQUIRE(loaded.warnings.size() == 3);
    CHECK(holds(loaded.warnings[0], "JSON_MAX_DEPTH ("));
    CHECK(holds(loaded.warnings[0], "config.toml:2) has no effect any more: it is 64"));
    CHECK(loaded.warnings[1] == "SANDBOX_KERNEL_CPU (environment) has no effect any more: it is four hours");
    CHECK(loaded.warnings[2] == "HTTP_BODY_TIMEOUT (--set) has no effect any more: HTTP_TIMEOUT sets it");
    CHECK(loaded.values.body_timeout == std::chrono::seconds(30));
}

TEST_CASE("a limit of each caller from earlier versions is a quota of everybody, and AUTH_QUOTAS goes before it")
{
    config_case c;
    c.env_file("SANDBOX_KERNELS_PER_CALLER=3\nMCP_CALLS_PER_MINUTE=60\nAUTH_QUOTAS=*:calls=5,ann:runs=1\n");
    c.from.variables["SANDBOX_KERNELS_PER_CALLER"] = "4";
    const auto loaded = c.load();
    const auto limits = limits_from(loaded.values);
    CHECK(limits.kernels == 4);
    CHECK(limits.calls == 5);
    CHECK(limits.runs == 0);
    REQUIRE(loaded.warnings.size() == 3);
    CHECK(holds(loaded.warnings[2], "is AUTH_QUOTAS=*:kernels=4 now"));
    c.from.variables["SANDBOX_KERNELS_PER_CALLER"] = "0";
    CHECK(holds(c.refusal(), "the number must be 1"));
}

TEST_CASE("one time for what clients send and read bounds all of it")
{
    config_case c;
    CHECK(c.load().values.header_timeout == std::chrono::seconds(10));
    CHECK(c.load().values.idle_timeout == std::chrono::seconds(120));
    c.from.variables["HTTP_TIMEOUT"] = "2";
    const auto values = c.load().values;
    CHECK(values.header_timeout == std::chrono::seconds(2));
    CHECK(values.body_timeout == std::chrono::seconds(2));
    CHECK(values.write_timeout == std::chrono::seconds(2));
    CHECK(values.idle_timeout == std::chrono::seconds(120));
    c.from.variables["HTTP_TIMEOUT"] = "160";
    CHECK(c.load().values.header_timeout == std::chrono::seconds(10));
    CHECK(c.load().values.idle_timeout == std::chrono::seconds(640));
}
