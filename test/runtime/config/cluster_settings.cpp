#include "config/cluster_member.hpp"
#include "config/etcd_endpoint.hpp"
#include "config/labels.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;
using test::holds;

TEST_CASE("an address is read with its host and port, and one of another form is not")
{
    CHECK(read_host_and_port("10.0.0.5:8443") == std::pair(std::string("10.0.0.5"), std::uint16_t(8443)));
    CHECK(read_host_and_port("[fd00::7]:65535") == std::pair(std::string("fd00::7"), std::uint16_t(65535)));
    for (const auto* bad : {"", "host", "host:", "host:0", "host:65536", "host:x", "fd00::7:1", "ho st:1",
                            "user@host:1", "host/path:1", ":1"}) {
        INFO(bad);
        CHECK_FALSE(read_host_and_port(bad));
    }
}

TEST_CASE("the name of a server in a cluster is short and plain")
{
    for (const auto* good : {"n1", "east-2", "a-name-of-twenty-four-chr"})
        CHECK(is_member_name(std::string(good).substr(0, 24)));
    for (const auto* bad : {"", "N1", "n_1", "n.1", "n/1", "a-name-of-twenty-five-chars"}) {
        INFO(bad);
        CHECK_FALSE(is_member_name(bad));
    }
}

TEST_CASE("members of etcd are read, and addresses of another form are refused")
{
    const auto plain = etcd_endpoint::read("http://etcd.example").value();
    CHECK((!plain.secure && plain.host == "etcd.example" && plain.port == 2379));
    const auto whole = etcd_endpoint::read("https://[fd00::7]:7000/").value();
    CHECK((whole.secure && whole.host == "fd00::7" && whole.port == 7000));
    for (const auto* bad : {"etcd.example:2379", "redis://h", "https://", "https://h:0", "https://h/name",
                            "https://h?x=1", "https://user@h", "https://h:65536", "https://h o"}) {
        INFO(bad);
        CHECK_FALSE(etcd_endpoint::read(bad));
    }
}

TEST_CASE("a cluster needs a name, an address, certificates and a common key, and the start says which is missing")
{
    config_case c;
    std::string text = "CLUSTER_ETCD=https://127.0.0.1:2379,https://127.0.0.2:2379\n";
    const auto needs = [&](const std::string& what, const std::string& more) {
        c.env_file(text);
        INFO(text);
        CHECK(holds(c.refusal(), "needs " + what));
        text += more + "\n";
    };
    needs("SANDBOX_NODE", "SANDBOX_NODE=n2");
    needs("CLUSTER_LISTEN", "CLUSTER_LISTEN=0.0.0.0:8443");
    needs("CLUSTER_ADVERTISE", "CLUSTER_ADVERTISE=10.0.0.5:8443");
    needs("CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA", "CLUSTER_CERT=/c\nCLUSTER_KEY=/k\nCLUSTER_CA=/a");
    needs("SANDBOX_LINK_KEY", "SANDBOX_LINK_KEY=of-all");
    c.env_file(text);
    CHECK(c.refusal().empty());
    text += "CLUSTER_ETCD_USER=cmcp\n";
    needs("both CLUSTER_ETCD_USER and CLUSTER_ETCD_PASSWORD", "CLUSTER_ETCD_PASSWORD=hidden");
    c.env_file(text);
    CHECK(c.refusal().empty());
}

TEST_CASE("labels are names with values, each name once")
{
    config_case c;
    c.env_file("CLUSTER_LABELS= gpu=a100 , zone=eu-1.b\n");
    CHECK(c.refusal().empty());
    CHECK(c.load().values.cluster_labels == setting_types::words{"gpu=a100", "zone=eu-1.b"});
    for (const std::string bad : {"gpu", "gpu=", "=a100", "gpu=a=b", "gpu=a b", "gpu=a,gpu=b", "g\xc3\xbc=a"}) {
        c.env_file("CLUSTER_LABELS=" + bad + "\n");
        INFO(bad);
        CHECK(holds(c.refusal(), "name=value"));
    }
    CHECK_FALSE(read_labels({std::string(64, 'a') + "=b"}));
    CHECK(read_labels({"a=" + std::string(63, 'b')}));
    const auto labels = *read_labels({"zone=b", "gpu=a100"});
    CHECK(labels_text(labels) == "gpu=a100,zone=b");
    CHECK(labels_in("gpu=a100,zone=b") == labels);
    CHECK(labels_in("").empty());
    CHECK(has_labels(labels, {{"zone", "b"}}));
    CHECK(has_labels(labels, {}));
    CHECK_FALSE(has_labels(labels, {{"zone", "c"}}));
    CHECK_FALSE(has_labels({}, {{"zone", "b"}}));
}

TEST_CASE("addresses of another form stop the start and say what is allowed")
{
    config_case c;
    c.env_file("CLUSTER_ETCD=127.0.0.1:2379\n");
    CHECK(holds(c.refusal(), "https://host:2379"));
    c.env_file("CLUSTER_ETCD=https://127.0.0.1,http://127.0.0.2\n");
    CHECK(holds(c.refusal(), "all begin with https://"));
    c.env_file("CLUSTER_LISTEN=9001\n");
    CHECK(holds(c.refusal(), "host:port, for example"));
}

TEST_CASE("what a cluster was set up by before is refused with what is in its place")
{
    config_case c;
    for (const auto* name : {"CLUSTER_MEMBERS=n1=127.0.0.1:1", "CLUSTER_DIRECTORY=redis://:hidden@h"}) {
        c.env_file(name + std::string("\n"));
        CHECK(holds(c.refusal(), "set CLUSTER_ETCD and CLUSTER_LISTEN"));
        CHECK_FALSE(holds(c.refusal(), "hidden"));
    }
}
