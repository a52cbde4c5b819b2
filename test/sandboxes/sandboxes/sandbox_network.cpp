#include "networks/sandbox_network.hpp"
#include "config/settings.hpp"
#include "runs/sandbox_error.hpp"
#include "test/execution/runs/run_support.hpp"
#include "test/support/temporary_folder.hpp"

using namespace cmcp;

namespace {

struct backend_with_doors final : test::scripted_backend {
    bool can_have_doors() const override { return has_doors; }
    bool has_doors = true;
};

struct network_rig {
    explicit network_rig(settings::words usual, settings::words allowed = {})
    {
        config.sandbox_network = std::move(usual);
        config.sandbox_network_allowed = std::move(allowed);
    }

    std::string hosts(const std::optional<network_wish>& wish, scope_set scopes = scope_set::all())
    {
        sandbox_network network(io.get_executor(), config, backend, store, limits, pool);
        caller who;
        who.scopes = scopes;
        return network.hosts_of(who, wish);
    }

    asio::io_context io;
    blocking_pool pool{1};
    settings config;
    quotas limits{config};
    backend_with_doors backend;
    test::temporary_folder folder;
    sandbox_store store{folder.path / "records"};
};

network_wish allow(std::vector<std::string> hosts) { return {std::move(hosts)}; }

}  // namespace

TEST_CASE("a sandbox gets the hosts that it asks for, and else the usual ones")
{
    network_rig rig({"a.example"}, {"*.example"});
    CHECK(rig.hosts(std::nullopt) == "a.example");
    CHECK(rig.hosts(allow({"b.example:443", "*.c.example"})) == "b.example:443,*.c.example");
    CHECK(rig.hosts(allow({})).empty());
}

TEST_CASE("a host that the operator does not allow is refused at once")
{
    network_rig rig({"none"}, {"*.example"});
    CHECK_THROWS_WITH(rig.hosts(allow({"a.elsewhere"})), Catch::Contains("SANDBOX_NETWORK_ALLOWED"));
    CHECK_THROWS_WITH(rig.hosts(allow({"http://a.example"})), Catch::Contains("network: "));
    CHECK_THROWS_WITH(rig.hosts(allow({"a.example,b.example"})), Catch::Contains("is no entry"));
    CHECK_THROWS_WITH(rig.hosts(allow(std::vector<std::string>(101, "a.example"))), Catch::Contains("100"));
}

TEST_CASE("who may not use the web gives no sandbox a network")
{
    network_rig rig({"a.example"});
    const scope_set runs_alone = scope_set(scope::run) | scope::sandboxes;
    CHECK(rig.hosts(std::nullopt, runs_alone).empty());
    CHECK_THROWS_WITH(rig.hosts(allow({"a.example"}), runs_alone), Catch::Contains("mcp:web"));
}

TEST_CASE("where sandboxes can have no network, asking for one says why")
{
    network_rig none({"none"});
    CHECK_THROWS_WITH(none.hosts(allow({"a.example"})), Catch::Contains("SANDBOX_NETWORK_ALLOWED"));
    CHECK(none.hosts(std::nullopt).empty());
    network_rig without({"a.example"});
    without.backend.has_doors = false;
    CHECK_THROWS_WITH(without.hosts(allow({"a.example"})), Catch::Contains("no network"));
    CHECK(without.hosts(std::nullopt).empty());
}

TEST_CASE("a network that asks is kept as such, beside its hosts")
{
    network_rig rig({"none"}, {"*.example"});
    network_wish wish = allow({"a.example"});
    wish.ask = true;
    CHECK(rig.hosts(wish) == "?,a.example");
    wish.allow.clear();
    CHECK(rig.hosts(wish) == "?");
    sandbox_record record;
    record.network = "?,a.example";
    CHECK(sandbox_network::asks_in(record));
    CHECK(sandbox_network::hosts_in(record) == std::vector<std::string>{"a.example"});
    record.network = "a.example";
    CHECK_FALSE(sandbox_network::asks_in(record));
    CHECK_THROWS_WITH(rig.hosts(allow({"?"})), Catch::Contains("is no entry"));
    CHECK_THROWS_WITH(rig.hosts(wish, scope_set(scope::run) | scope::sandboxes), Catch::Contains("mcp:web"));
    rig.config.sandbox_network_ask = {};
    CHECK_THROWS_WITH(rig.hosts(wish), Catch::Contains("SANDBOX_NETWORK_ASK"));
}

TEST_CASE("the hosts of a network that answers have allowed are told apart from those of its list")
{
    network_rig rig({"none"}, {"*.example"});
    const sandbox_network network(rig.io.get_executor(), rig.config, rig.backend, rig.store, rig.limits, rig.pool);
    const auto answered = [&](const std::string& hosts) {
        sandbox_record record;
        record.network = hosts;
        return network.answers_of(record).for_sandbox;
    };
    CHECK(answered("").empty());
    CHECK(answered("a.example").empty());
    CHECK(answered("?,a.example").empty());
    CHECK(answered("?,a.example,?,b.example:443,c.example:80") ==
          std::vector<std::string>{"b.example:443", "c.example:80"});
    sandbox_record record;
    record.network = "?,?,b.example:443";
    CHECK(sandbox_network::asks_in(record));
    CHECK(sandbox_network::hosts_in(record) == std::vector<std::string>{"b.example:443"});
}
