#include "cluster/members.hpp"
#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

settings three()
{
    settings config;
    config.cluster_members = {"n1=10.0.0.1:1", "n2=10.0.0.2:2", "n3=10.0.0.3:3"};
    config.sandbox_node = "n2";
    return config;
}

constexpr std::string_view digits = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("a handle leads to the member that it names")
{
    const members all(three());
    CHECK(all.own().name == "n2");
    REQUIRE(all.others().size() == 2);
    for (const auto* kind : {"sbx", "ses", "job", "snp"}) {
        const auto* owner = all.owner_of(std::string(kind) + "_n3_" + std::string(digits));
        REQUIRE(owner != nullptr);
        CHECK(owner->host == "10.0.0.3");
    }
}

TEST_CASE("own handles, those of strangers and texts of any other form lead nowhere")
{
    const members all(three());
    const std::string end = "_" + std::string(digits);
    for (const auto& text :
         std::vector<std::string>{"", "n3", "sbx_n2" + end, "sbx_n4" + end, "sbx_127.0.0.1:22" + end,
                                  "sbx_n3/../n1" + end, "sbx_n3", "sbx__" + end, "sbx_N3" + end, "sbx_n3" + end + "0",
                                  "sbx_n3" + end.substr(0, 20), " sbx_n3" + end, "sbx_n3" + end + "\r\nHost: x"}) {
        INFO(text);
        CHECK(all.owner_of(text) == nullptr);
    }
}
