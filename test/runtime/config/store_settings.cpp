#include "config/settings.hpp"
#include "config/store_address.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;
using test::holds;

namespace {

const std::string a_key(64, 'A');

}  // namespace

TEST_CASE("the address of an object storage is read with bucket and prefix")
{
    const auto plain = store_address::read("https://s3.example/snapshots").value();
    CHECK((plain.secure && plain.host == "s3.example" && plain.port == 0));
    CHECK((plain.bucket == "snapshots" && plain.prefix.empty()));
    const auto whole = store_address::read("http://[fd00::7]:9000/my.bucket/of/east-1/").value();
    CHECK((!whole.secure && whole.host == "[fd00::7]" && whole.port == 9000));
    CHECK((whole.bucket == "my.bucket" && whole.prefix == "of/east-1/"));
    CHECK(store_address::read("https://h/b/").value().prefix.empty());
}

TEST_CASE("the address of an object storage of another form is refused")
{
    for (const auto* bad :
         {"s3.example/bucket", "s3://bucket", "https://h", "https://h/", "https:///bucket", "https://h:0/b",
          "https://h:65536/b", "https://h/b?x=1", "https://h/b#x", "https://me:pw@h/b", "https://h//b",
          "https://h/b//p", "https://h/../b", "https://h/b/./p", "https://h/b%2Fc", "https://h/b c"}) {
        INFO(bad);
        CHECK_FALSE(store_address::read(bad));
    }
}

TEST_CASE("an object storage needs an access key and a key of snapshots, and the start says which is missing")
{
    config_case c;
    const std::string store = "SNAPSHOT_STORE=https://h/b\n", id = "SNAPSHOT_STORE_KEY_ID=id\n";
    const std::string secret = "SNAPSHOT_STORE_SECRET=hidden\n";
    c.env_file(store);
    CHECK(holds(c.refusal(), "SNAPSHOT_STORE=https://h/b needs SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET"));
    c.env_file(store + id);
    CHECK(holds(c.refusal(), "needs SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET"));
    c.env_file(store + id + secret);
    CHECK(holds(c.refusal(), "needs SNAPSHOT_KEY"));
    CHECK(holds(c.refusal(), "openssl rand -hex 32"));
    CHECK_FALSE(holds(c.refusal(), "hidden"));
    c.env_file(store + id + secret + "SNAPSHOT_KEY=" + a_key + "\n");
    CHECK(c.refusal().empty());
    const auto values = c.load().values;
    CHECK(values.snapshot_store_region == "us-east-1");
    CHECK(values.snapshot_key == std::string(64, 'a'));
}

TEST_CASE("what belongs to an object storage is refused without one")
{
    config_case c;
    for (const std::string line :
         {"SNAPSHOT_STORE_KEY_ID=id", "SNAPSHOT_STORE_SECRET=hidden", "SNAPSHOT_STORE_CA=/ca"}) {
        c.env_file(line + "\n");
        CHECK(holds(c.refusal(), line.substr(0, line.find('=')) + " does nothing without SNAPSHOT_STORE"));
        CHECK_FALSE(holds(c.refusal(), "hidden"));
    }
    c.env_file("SNAPSHOT_KEY=" + a_key + "\n");
    CHECK(holds(c.refusal(), "SNAPSHOT_KEY does nothing without SNAPSHOT_STORE"));
    CHECK_FALSE(holds(c.refusal(), a_key));
}

TEST_CASE("malformed settings of an object storage stop the start and say what is allowed, never a secret")
{
    config_case c;
    c.env_file("SNAPSHOT_STORE=s3://bucket\n");
    CHECK(holds(c.refusal(), "SNAPSHOT_STORE=s3://bucket"));
    CHECK(holds(c.refusal(), "https://host/bucket"));
    c.env_file("SNAPSHOT_STORE=https://me:hidden@h/b\n");
    CHECK(holds(c.refusal(), "SNAPSHOT_STORE=https://***@h/b"));
    CHECK_FALSE(holds(c.refusal(), "hidden"));
    c.env_file("SNAPSHOT_STORE_REGION=us east\n");
    CHECK(holds(c.refusal(), "for example us-east-1"));
    for (const auto& bad : {a_key + "0", a_key.substr(1), std::string(64, 'g')}) {
        c.env_file("SNAPSHOT_KEY=" + bad + "\n");
        CHECK(holds(c.refusal(), "SNAPSHOT_KEY=***"));
        CHECK(holds(c.refusal(), "openssl rand -hex 32"));
    }
}
