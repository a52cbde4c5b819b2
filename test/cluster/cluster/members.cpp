#include "cluster/members.hpp"
#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

settings second()
{
    settings config;
    config.cluster_prefix = "/c/";
    config.cluster_listen = "0.0.0.0:7";
    config.cluster_advertise = "10.0.0.2:2";
    config.sandbox_node = "n2";
    return config;
}

etcd_entry registered(const std::string& name, const std::string& about, std::int64_t life = 1)
{
    return {"/c/member/" + name, about, life, life, 9};
}

const std::string at_three = R"({"host":"10.0.0.3","port":3,"sandboxes":4})";
constexpr std::string_view digits = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("a handle leads to the member that it names")
{
    members all(second());
    CHECK(all.own().name == "n2");
    CHECK((all.own().host == "10.0.0.2" && all.own().port == 2));
    all.put_all(
        {registered("n1", R"({"host":"10.0.0.1","port":1})"), registered("n2", at_three), registered("n3", at_three)});
    REQUIRE(all.others().size() == 2);
    for (const auto* kind : {"sbx", "ses", "job", "snp"}) {
        const auto* owner = all.owner_of(std::string(kind) + "_n3_" + std::string(digits));
        REQUIRE(owner != nullptr);
        CHECK(owner->host == "10.0.0.3");
    }
    REQUIRE(all.about("n3") != nullptr);
    CHECK(all.about("n3")->at("sandboxes") == 4);
}

TEST_CASE("own handles, those of strangers and texts of any other form lead nowhere")
{
    members all(second());
    all.put_all({registered("n1", at_three), registered("n3", at_three)});
    const std::string end = "_" + std::string(digits);
    for (const auto& text :
         std::vector<std::string>{"", "n3", "sbx_n2" + end, "sbx_n4" + end, "sbx_127.0.0.1:22" + end,
                                  "sbx_n3/../n1" + end, "sbx_n3", "sbx__" + end, "sbx_N3" + end, "sbx_n3" + end + "0",
                                  "sbx_n3" + end.substr(0, 20), " sbx_n3" + end, "sbx_n3" + end + "\r\nHost: x"}) {
        INFO(text);
        CHECK(all.owner_of(text) == nullptr);
    }
}

TEST_CASE("members come, are known when they have gone, and begin new lives")
{
    members all(second());
    int changes = 0;
    all.on_change([&changes] { ++changes; });
    all.put(registered("n3", at_three, 5), false);
    CHECK(changes == 1);
    CHECK(all.life_of("n3") == 5);
    all.put(registered("n3", R"({"host":"10.0.0.3","port":3,"sandboxes":5})", 5), false);
    CHECK(changes == 1);  // it tells of its load
    CHECK(all.about("n3")->at("sandboxes") == 5);
    all.put(registered("n3", "", 5), true);
    CHECK(changes == 2);
    CHECK(all.others().empty());
    CHECK_FALSE(all.has("n3"));
    REQUIRE(all.other("n3") != nullptr);
    all.put(registered("n3", R"({"host":"10.0.0.9","port":3})", 8), false);
    CHECK(changes == 3);
    CHECK(all.other("n3")->host == "10.0.0.9");
    CHECK(all.life_of("n3") == 8);
}

TEST_CASE("a member that says that it leaves stays known, and is none that stays")
{
    members all(second());
    all.put_all({registered("n1", at_three, 3), registered("n3", at_three, 4)});
    int changes = 0;
    all.on_change([&changes] { ++changes; });
    for (int i = 0; i != 2; ++i) all.put(registered("n3", R"({"host":"10.0.0.3","port":3,"leaves":true})", 4), false);
    CHECK(changes == 1);
    CHECK(all.leaves("n3"));
    CHECK(all.others().size() == 2);
    REQUIRE(all.staying().size() == 1);
    CHECK(all.staying().front().name == "n1");
    all.put(registered("n3", "", 4), true);
    CHECK(all.lost().empty());
    CHECK_FALSE(all.leaves("n3"));
    all.put(registered("n3", at_three, 9), false);
    CHECK(all.staying().size() == 2);
}

TEST_CASE("entries that no server writes make no members")
{
    members all(second());
    all.put_all({registered("N3", at_three), registered("n3/x", at_three), registered("", at_three),
                 registered("n4", "7"), registered("n5", R"({"host":"h"})"),
                 registered("n6", R"({"host":"h","port":70000})"),
                 registered("n7", std::string(100'000, ' ') + at_three)});
    CHECK(all.others().empty());
}

TEST_CASE("the place of a principal on the ring is the same at every server that sees the same members")
{
    auto config = second();
    members one(config);
    config.sandbox_node = "n3";
    members other(config);
    one.put_all({registered("n1", at_three), registered("n3", at_three)});
    other.put_all({registered("n2", at_three), registered("n1", at_three)});
    for (int i = 0; i != 50; ++i) CHECK(one.home_of("p" + std::to_string(i)) == other.home_of("p" + std::to_string(i)));
}
