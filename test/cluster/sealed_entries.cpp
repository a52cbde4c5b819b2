#include "cluster/shared_issuers.hpp"
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
