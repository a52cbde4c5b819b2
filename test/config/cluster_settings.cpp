#include "config/cluster_member.hpp"
#include "config/directory_address.hpp"
#include "test/config/config_case.hpp"
#include "test/support/catch.hpp"

#include <stdexcept>

using namespace cmcp;
using test::config_case;
using test::holds;

TEST_CASE("members of a cluster are read with their names, hosts and ports")
{
    const auto members = read_members({"n1=10.0.0.5:8443", "east-2=node.example:1", "v6=[fd00::7]:65535"});
    REQUIRE(members.size() == 3);
    CHECK(members[0].name == "n1");
    CHECK(members[0].host == "10.0.0.5");
    CHECK(members[0].port == 8443);
    CHECK(members[1].host == "node.example");
    CHECK(members[2].host == "fd00::7");
    CHECK(members[2].port == 65535);
}

TEST_CASE("a member of another form is refused")
{
    for (const auto* bad :
         {"n1", "n1=", "n1=host", "n1=host:0", "n1=host:65536", "n1=host:x", "=host:1", "N1=host:1", "n_1=host:1",
          "n1=fd00::7:1", "n1=ho st:1", "n1=user@host:1", "n1=host/path:1", "a-name-of-twenty-five-chars=h:1"}) {
        INFO(bad);
        CHECK_THROWS_AS(read_members({bad}), std::invalid_argument);
    }
    CHECK_THROWS_AS(read_members({"n1=a:1", "n1=b:2"}), std::invalid_argument);
}

TEST_CASE("a cluster needs a name, certificates and a common key, and the start says which is missing")
{
    config_case c;
    c.env_file("CLUSTER_MEMBERS=n1=127.0.0.1:9001,n2=127.0.0.1:9002\nSANDBOX_NODE=n3\n");
    CHECK(holds(c.refusal(), "needs SANDBOX_NODE"));
    c.env_file("CLUSTER_MEMBERS=n1=127.0.0.1:9001,n2=127.0.0.1:9002\nSANDBOX_NODE=n2\n");
    CHECK(holds(c.refusal(), "needs CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA"));
    const std::string files = "CLUSTER_CERT=/c\nCLUSTER_KEY=/k\nCLUSTER_CA=/a\n";
    c.env_file("CLUSTER_MEMBERS=n1=127.0.0.1:9001,n2=127.0.0.1:9002\nSANDBOX_NODE=n2\n" + files);
    CHECK(holds(c.refusal(), "needs SANDBOX_LINK_KEY"));
    c.env_file("CLUSTER_MEMBERS=n1=127.0.0.1:9001,n2=127.0.0.1:9002\nSANDBOX_NODE=n2\nSANDBOX_LINK_KEY=of-all\n" +
               files);
    CHECK(c.refusal().empty());
}

TEST_CASE("a list of members of another form stops the start and says what is allowed")
{
    config_case c;
    c.env_file("CLUSTER_MEMBERS=n1=127.0.0.1\n");
    CHECK(holds(c.refusal(), "CLUSTER_MEMBERS=n1=127.0.0.1"));
    CHECK(holds(c.refusal(), "name=host:port"));
    c.env_file("CLUSTER_LISTEN=9001\n");
    CHECK(holds(c.refusal(), "host:port, for example"));
}

TEST_CASE("the address of a directory is read with its password, and one of another form is refused")
{
    const auto plain = directory_address::read("redis://valkey.example").value();
    CHECK((!plain.secure && plain.host == "valkey.example" && plain.port == 6379 && plain.password.empty()));
    const auto whole = directory_address::read("rediss://ann:p%40ss@[fd00::7]:7000/3").value();
    CHECK((whole.secure && whole.user == "ann" && whole.password == "p@ss"));
    CHECK((whole.host == "fd00::7" && whole.port == 7000 && whole.database == "3"));
    CHECK(directory_address::read("redis://:secret@h").value().password == "secret");
    for (const auto* bad : {"valkey.example:6379", "http://h", "redis://", "redis://h:0", "redis://h/name",
                            "redis://h?x=1", "redis://h:65536", "redis://h o"}) {
        INFO(bad);
        CHECK_FALSE(directory_address::read(bad));
    }
}

TEST_CASE("a directory is of a cluster, and its password is shown to nobody")
{
    config_case c;
    c.env_file("CLUSTER_DIRECTORY=redis://:hidden@127.0.0.1\n");
    CHECK(holds(c.refusal(), "CLUSTER_DIRECTORY needs CLUSTER_MEMBERS"));
    c.env_file("CLUSTER_DIRECTORY=valkey:hidden\n");
    CHECK(holds(c.refusal(), "redis://host:port"));
    CHECK_FALSE(holds(c.refusal(), "hidden"));
}
