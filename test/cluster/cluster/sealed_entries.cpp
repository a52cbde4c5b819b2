#include "cluster/shared_issuers.hpp"
#include "cluster/shared_quotas.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view key_of_all = "the key of all servers";
const std::string as = "https://as.example.org";
const std::string keys_of_as = R"({"keys":[]})";

}  // namespace

TEST_CASE("a key set comes out of the directory with its age")
{
    const auto entry = sealed_key_set(key_of_all, as, keys_of_as, 1000);
    const auto set = opened_key_set(key_of_all, as, entry, 1090);
    REQUIRE(set);
    CHECK(set->document == keys_of_as);
    CHECK(set->age == 90s);
    CHECK(opened_key_set(key_of_all, as, entry, 990)->age == 0s);
}

TEST_CASE("a key set that somebody else wrote, or for another issuer, or of the future, is none")
{
    const auto entry = sealed_key_set(key_of_all, as, keys_of_as, 1000);
    CHECK_FALSE(opened_key_set("another key", as, entry, 1000));
    CHECK_FALSE(opened_key_set(key_of_all, "https://other.example.org", entry, 1000));
    CHECK_FALSE(opened_key_set(key_of_all, as, entry, 900));
    CHECK_FALSE(opened_key_set(key_of_all, as, entry.substr(64), 1000));
    CHECK_FALSE(opened_key_set(key_of_all, as, "", 1000));
    for (std::size_t i = 0; i < entry.size(); i += 7) {
        auto changed = entry;
        changed[i] = changed[i] == '0' ? '1' : '0';
        INFO(i);
        CHECK_FALSE(opened_key_set(key_of_all, as, changed, 1000));
    }
}

TEST_CASE("a limit comes out of the directory as it was told, and is no key set")
{
    const stored_limit limit{"ann", "runs", 2, 1790000000.125, false};
    const auto entry = sealed_limit(key_of_all, limit);
    const auto read = opened_limit(key_of_all, entry);
    REQUIRE(read);
    CHECK(read->principal == "ann");
    CHECK(read->name == "runs");
    CHECK(read->value == 2);
    CHECK(read->changed == limit.changed);
    CHECK_FALSE(read->cleared);
    CHECK(opened_limit(key_of_all, sealed_limit(key_of_all, {"ann", "runs", 0, 5, true}))->cleared);
    CHECK_FALSE(opened_limit("another key", entry));
    CHECK_FALSE(opened_key_set(key_of_all, "ann", entry, 1000));
    CHECK_FALSE(opened_limit(key_of_all, sealed_key_set(key_of_all, as, keys_of_as, 1000)));
}
