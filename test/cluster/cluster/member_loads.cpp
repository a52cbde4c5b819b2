#include "cluster/member_loads.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "test/support/catch.hpp"

#include <map>

using namespace cmcp;

namespace {

/// Servers n1 (this one) and others, each with half of its memory in use unless it says otherwise.
class loaded_servers {
public:
    explicit loaded_servers(std::map<std::string, std::string> all)
    {
        std::vector<etcd_entry> registered;
        for (const auto& [name, about] : all) {
            if (name == "n1") own_ = whole(about);
            registered.push_back({"/c/member/" + name, json::serialize(whole(about)), 1, 1, 1});
        }
        members_.put_all(registered);
        loads.look_again();
    }

    static json::object whole(const std::string& about)
    {
        auto row =
            jsonrpc::read_object(R"({"host":"10.0.0.1","port":1,"memory":1000,"memory_available":500,"max_runs":8})");
        for (auto& each : jsonrpc::read_object("{" + about + "}")) row[each.key()] = each.value();
        return row;
    }

private:
    static settings first()
    {
        settings config;
        config.cluster_prefix = "/c/";
        config.cluster_listen = "10.0.0.1:1";
        config.sandbox_node = "n1";
        return config;
    }

    settings config_ = first();
    members members_{config_};
    json::object own_;

public:
    member_loads loads{members_, [this] { return own_; }};
};

const std::string a100 = R"("labels":{"gpu":"a100","zone":"b"})";
const std::string debian = R"("images":["debian:latest","python:3.12"])";
const std::string idle = R"("memory_available":900)";

member_loads::wish with_labels(std::vector<std::string> words) { return {{}, read_labels(words).value()}; }
member_loads::wish with_image(std::string name) { return {std::move(name), {}}; }

}  // namespace

TEST_CASE("a sandbox with labels goes to the least loaded server that has all of them")
{
    loaded_servers all({{"n1", idle}, {"n2", a100}, {"n3", a100 + "," + idle}, {"n4", R"("labels":{"gpu":"a100"})"}});
    CHECK(all.loads.place_sandbox(with_labels({"gpu=a100", "zone=b"})) == "n3");
    CHECK(all.loads.place_sandbox(with_labels({"gpu=a100", "zone=c"})).empty());
    CHECK_FALSE(all.loads.has_own(*read_labels({"gpu=a100"})));
    CHECK(all.loads.labels() == std::vector<std::string>{"gpu=a100", "zone=b"});
}

TEST_CASE("a server that has the labels keeps what others with them have no more room for")
{
    loaded_servers all({{"n1", a100}, {"n2", a100}, {"n3", idle}});
    CHECK(all.loads.place_sandbox(with_labels({"gpu=a100"})).empty());
    CHECK(all.loads.has_own(*read_labels({"gpu=a100"})));
    loaded_servers drained({{"n1", ""}, {"n2", a100 + R"(,"drains":true)"}});
    CHECK(drained.loads.place_sandbox(with_labels({"gpu=a100"})).empty());
}

TEST_CASE("a sandbox with an image goes where the image is, and is made here where none has it")
{
    loaded_servers all({{"n1", ""}, {"n2", debian}, {"n3", idle}});
    for (const auto* name : {"debian", "debian:latest", "library/debian", "python:3.12"}) {
        INFO(name);
        CHECK(all.loads.place_sandbox(with_image(name)) == "n2");
    }
    CHECK(all.loads.place_sandbox(with_image("fedora")).empty());
    CHECK(all.loads.place_sandbox(with_image("no name of any image:\n")).empty());
    CHECK(all.loads.place_sandbox(with_image("native")) == "n3");

    loaded_servers here({{"n1", debian}, {"n2", debian}, {"n3", idle}});
    CHECK(here.loads.place_sandbox(with_image("debian")).empty());
    loaded_servers busy({{"n1", debian}, {"n2", debian + "," + idle}, {"n3", idle}});
    CHECK(busy.loads.place_sandbox(with_image("debian")) == "n2");
}

TEST_CASE("labels count where no server has both them and the image")
{
    loaded_servers all({{"n1", debian}, {"n2", a100}, {"n3", idle}});
    auto both = with_labels({"gpu=a100"});
    both.image = "debian";
    CHECK(all.loads.place_sandbox(both) == "n2");
    loaded_servers with_both({{"n1", debian}, {"n2", a100 + "," + idle}, {"n3", a100 + "," + debian}});
    CHECK(with_both.loads.place_sandbox(both) == "n3");
}

TEST_CASE("a sandbox is brought, and given away, to a server that has what it needs")
{
    loaded_servers all({{"n1", ""}, {"n2", debian}, {"n3", a100}});
    CHECK(all.loads.place_brought(with_image("debian")) == "n2");
    CHECK(all.loads.place_brought(with_labels({"zone=b"})) == "n3");
    CHECK(all.loads.place_brought(with_image("native")).empty());
    CHECK(all.loads.place_brought(with_image("fedora")).empty());
    CHECK(all.loads.place_given_away(with_image("debian")) == "n2");
    CHECK(all.loads.place_given_away(with_labels({"zone=b"})) == "n3");
    CHECK(all.loads.place_given_away(with_labels({"zone=c"})).empty());

    loaded_servers full({{"n1", R"("sandboxes":90)"}, {"n2", debian + R"(,"sandboxes":20)"}, {"n3", ""}});
    CHECK(full.loads.place_surplus(with_image("debian")) == "n2");
    CHECK(full.loads.place_surplus({}) == "n3");
    CHECK(full.loads.place_surplus(with_labels({"zone=b"})).empty());
}
