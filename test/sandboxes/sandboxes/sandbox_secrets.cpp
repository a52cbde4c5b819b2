#include "networks/sandbox_secrets.hpp"

#include "config/settings.hpp"
#include "secrets/secret_order.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>

using namespace cmcp;

namespace {

const std::string value_of_tests = "a value that nobody in a sandbox sees";

/// A server's folder with secrets, and its sandboxes.
struct secrets_stage {
    secrets_stage()
    {
        config.sandbox_root = folder.path / "data";
        config.secrets_key_file = folder.path / "secrets.key";
        std::filesystem::create_directories(config.sandbox_root);
    }
    void set(const std::string& name, const std::string& hosts, std::optional<std::string> principal = std::nullopt,
             const std::string& sandbox = {}, const std::string& value = value_of_tests)
    {
        secret_store store(secret_store::file_in(config.sandbox_root));
        set_secret(store, config, {name, hosts, "X-Key: {}", {}, {}, std::move(principal), sandbox}, value, 1);
    }
    static sandbox_record sandbox(const std::string& id, const std::string& owner, const std::string& network)
    {
        sandbox_record record;
        record.id = id;
        record.owner = owner;
        record.network = network;
        return record;
    }
    std::string names(const sandbox_record& where)
    {
        std::string all;
        for (const auto& each : secrets.of(where)) all += (all.empty() ? "" : " ") + each.name;
        return all;
    }

    test::temporary_folder folder;
    settings config;
    blocking_pool pool{1};
    sandbox_secrets secrets{config, pool};
};

}  // namespace

TEST_CASE("a sandbox has the secrets of its principal, its own and everybody's, for hosts that its network allows")
{
    secrets_stage s;
    const auto anns = secrets_stage::sandbox("sbx_a", "ann", "api.test,*.wild.test"),
               nobodys = secrets_stage::sandbox("sbx_n", "", "api.test");
    CHECK(s.names(anns).empty());
    s.set("A", "api.test", "ann");
    s.set("B", "api.test", "bob");
    s.set("C", "api.test", "*");
    s.set("D", "api.test");
    s.set("E", "api.test", std::nullopt, "sbx_a");
    s.set("F", "other.test", "ann");
    s.set("G", "a.wild.test", "ann");
    CHECK(s.names(anns) == "A C E G");
    CHECK(s.names(nobodys) == "C D");
    CHECK(s.names(secrets_stage::sandbox("sbx_a", "ann", "")).empty());
    CHECK(s.names(secrets_stage::sandbox("sbx_x", "ann", "*")) == "A C F G");
    CHECK(s.names(secrets_stage::sandbox("sbx_x", "ann", "api.test:8443")).empty());
    CHECK(s.names(secrets_stage::sandbox("sbx_x", "ann", "!api.test,10.0.0.0/8")).empty());
    CHECK(s.names(secrets_stage::sandbox("sbx_x", "ann", "?,api.test,?,other.test:443")) == "A C F");
}

TEST_CASE("names below a name meet in both directions")
{
    secrets_stage s;
    s.set("W", "*.example.org:8443", "ann");
    const auto has = [&](const std::string& network) {
        return s.names(secrets_stage::sandbox("sbx_x", "ann", network)) == "W";
    };
    CHECK(has("a.example.org"));
    CHECK(has("*.example.org:8443"));
    CHECK(has("*.a.example.org"));
    CHECK(has("*.org.test,*.org"));
    CHECK_FALSE(has("example.org"));
    CHECK_FALSE(has("a.example.org:443"));
    CHECK_FALSE(has("*.other.org"));
}

TEST_CASE("of several secrets of a name the nearest counts, and a change counts at once")
{
    secrets_stage s;
    const auto anns = secrets_stage::sandbox("sbx_a", "ann", "api.test");
    const auto value = [&] { return s.secrets.of(anns).at(0).value; };
    s.set("K", "api.test", "*", {}, "everybody's value");
    CHECK(value() == "everybody's value");
    s.set("K", "api.test", "ann", {}, "the principal's value");
    CHECK(value() == "the principal's value");
    s.set("K", "api.test", std::nullopt, "sbx_a", "the sandbox's own value");
    CHECK(value() == "the sandbox's own value");
    secret_store(secret_store::file_in(s.config.sandbox_root)).remove("K", "*", "sbx_a");
    CHECK(value() == "the principal's value");
    CHECK(s.secrets.of(anns).size() == 1);
}

TEST_CASE("placeholders and authorities are a sandbox's own, and stay")
{
    secrets_stage s;
    const auto one = secrets_stage::sandbox("sbx_1", "ann", "api.test"),
               two = secrets_stage::sandbox("sbx_2", "ann", "api.test");
    s.set("K", "api.test", "ann");
    s.set("SHORT", "api.test", "ann", {}, "12345678");
    s.set("LONG", "api.test", "ann", {}, std::string(2000, 'x'));
    const auto placeholders = [&](const sandbox_record& where) {
        std::vector<std::string> all;
        for (const auto& each : s.secrets.of(where)) all.push_back(each.placeholder);
        return all;
    };
    const auto first = placeholders(one), second = placeholders(two);
    REQUIRE(first.size() == 3);
    CHECK(first[0].size() == value_of_tests.size());
    CHECK(first[1].size() == 128);
    CHECK(first[2].size() == 28);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(first[i].starts_with("cmcp-secret-"));
        CHECK(first[i] != second[i]);
    }
    s.set("K", "api.test", "ann", {}, "another value that is hidden from them");
    CHECK(placeholders(one) == first);
    CHECK(s.secrets.certificate_for(one) != s.secrets.certificate_for(two));
    const auto certificate = s.secrets.certificate_for(one);
    CHECK(s.secrets.certificate_for(one) == certificate);
    s.secrets.forget("sbx_1");
    CHECK(placeholders(one) != first);
    CHECK(s.secrets.certificate_for(one) != certificate);
}

TEST_CASE("without its key there are no secrets")
{
    secrets_stage s;
    const auto anns = secrets_stage::sandbox("sbx_a", "ann", "api.test");
    s.set("K", "api.test", "ann");
    std::ofstream(s.config.secrets_key_file) << std::string(64, 'b') << '\n';
    CHECK(s.secrets.of(anns).empty());
    std::filesystem::remove(s.config.secrets_key_file);
    sandbox_secrets later(s.config, s.pool);
    CHECK(later.of(anns).empty());
}

TEST_CASE("a place has the secrets for its host and port alone")
{
    secrets_stage s;
    const auto anns = secrets_stage::sandbox("sbx_a", "ann", "*");
    s.set("K", "api.test,b.test:8443", "ann");
    const auto source = s.secrets.source_for(anns);
    const auto at = [&](const std::string& name, std::uint16_t port) {
        return source->at(read_host(name), port) != nullptr;
    };
    CHECK(at("api.test", 443));
    CHECK_FALSE(at("api.test", 8443));
    CHECK(at("b.test", 8443));
    CHECK_FALSE(at("x.api.test", 443));
    CHECK_FALSE(at("127.0.0.1", 443));
    CHECK(source->concerns(read_host("b.test")));
    CHECK_FALSE(source->concerns(read_host("c.test")));
    const auto held = source->at(read_host("api.test"), 443);
    CHECK(source->at(read_host("api.test"), 443) == held);
    source->note_use(held->all.at(0));
    CHECK(secret_store(secret_store::file_in(s.config.sandbox_root)).all().at(0).used > 1000);
    s.set("K", "api.test,b.test:8443", "ann", {}, "another value that is hidden from them");
    const auto changed = source->at(read_host("api.test"), 443);
    CHECK(changed->all.at(0).value == "another value that is hidden from them");
    const auto masked = changed->masks->masked("another value that is hidden from them");
    CHECK(masked.starts_with(changed->all.at(0).placeholder));
    CHECK(masked.size() == changed->all.at(0).value.size());
}
