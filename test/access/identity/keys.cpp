#include "config/networks.hpp"
#include "identity/identity_store.hpp"
#include "identity/key_order.hpp"
#include "test/access/identity/issuer_rig.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"

#include <filesystem>
#include <map>

using namespace cmcp;
using namespace cmcp::test;

namespace {

key_record record_of(const api_key& key, std::string principal)
{
    key_record record;
    record.id = key.id;
    record.digest = sha256_hex(key.secret);
    record.principal = std::move(principal);
    record.scopes = "mcp:read mcp:files";
    return record;
}

struct server {
    explicit server(const std::filesystem::path& folder)
    {
        config.sandbox_root = folder;
        config.has_api_keys = true;
        logins = std::make_unique<gatekeeper>(io.get_executor(), config, document_fetch());
    }
    admission judge(const std::string& token, std::string_view peer = "192.0.2.1", digest_memo* digests = nullptr)
    {
        credentials of;
        of.digests = digests;
        of.scheme = "bearer";
        of.token = token;
        of.peer = peer;
        return logins->judge(of);
    }
    settings config;
    asio::io_context io;
    std::unique_ptr<gatekeeper> logins;
};

double now() { return static_cast<double>(std::time(nullptr)); }

}  // namespace

TEST_CASE("a key is read as it is written, and in no other form")
{
    const auto key = api_key::make();
    const auto text = key.text();
    REQUIRE(api_key::read(text));
    CHECK(api_key::read(text)->secret == key.secret);
    CHECK(text.size() == 4 + 12 + 1 + 43);
    CHECK_FALSE(api_key::read(text + "x"));
    CHECK_FALSE(api_key::read(text.substr(1)));
    CHECK_FALSE(api_key::read("cmk_" + std::string(56, 'a')));
    CHECK(api_key::make().text() != text);
}

TEST_CASE("a key is a login with its rights, and its secret is not in the store")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    CHECK_FALSE(store.has_keys());
    const auto key = api_key::make();
    auto record = record_of(key, "ann");
    record.profile = "agent";
    store.add(record);
    CHECK(store.has_keys());
    server at(folder.path);
    const auto judged = at.judge(key.text());
    REQUIRE(judged.who);
    CHECK(judged.who->principal == "ann");
    CHECK(judged.who->scopes.text() == "mcp:read mcp:files");
    CHECK(judged.who->profile == "agent");
    CHECK(judged.who->from == login::source::key);
    CHECK(store.find(key.id)->used > 0);
    CHECK(store.find(key.id)->digest.find(key.secret) == std::string::npos);
    CHECK_FALSE(at.judge("").who);
    CHECK_FALSE(at.judge("cmk_" + key.id + "_" + std::string(43, 'A')).who);
    CHECK_FALSE(at.judge(api_key::make().text()).who);
}

TEST_CASE("a connection that has brought a good secret is judged by that of each request")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto anns = api_key::make(), bobs = api_key::make();
    store.add(record_of(anns, "ann"));
    store.add(record_of(bobs, "bob"));
    server at(folder.path);
    digest_memo digests;
    const auto judge = [&](const std::string& token) {
        const auto judged = at.judge(token, "192.0.2.1", &digests);
        return judged.who ? judged.who->principal : std::string();
    };
    auto other = anns;
    other.secret.back() = other.secret.back() == 'A' ? 'B' : 'A';
    for (int i = 0; i < 2; ++i) {
        CHECK(judge(anns.text()) == "ann");
        CHECK(judge(other.text()).empty());
        CHECK(judge("cmk_" + bobs.id + "_" + anns.secret).empty());
        CHECK(judge(bobs.text()) == "bob");
        CHECK(judge(bobs.text()) == "bob");
    }
    CHECK(digests.of("") == sha256_hex(""));
    CHECK(digests.of(std::string(5000, 'a')) == sha256_hex(std::string(5000, 'a')));
    CHECK(digests.of("") == sha256_hex(""));
}

TEST_CASE("keys that are revoked, expired or used from elsewhere are refused with the reason")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto revoked = api_key::make(), expired = api_key::make(), bound = api_key::make();
    store.add(record_of(revoked, "a"));
    auto record = record_of(expired, "b");
    record.expires = now() - 1;
    store.add(record);
    record = record_of(bound, "c");
    record.networks = "10.0.0.0/8 2001:db8::/32";
    store.add(record);
    CHECK(store.revoke(revoked.id, now()));
    CHECK_FALSE(store.revoke(revoked.id, now()));
    server at(folder.path);
    CHECK(at.judge(revoked.text()).problem.find("revoked") != std::string::npos);
    CHECK(at.judge(expired.text()).problem.find("expired") != std::string::npos);
    CHECK(at.judge(bound.text()).problem.find("address") != std::string::npos);
    for (const auto* peer : {"10.1.2.3", "::ffff:10.1.2.3", "2001:db8:1::1"}) CHECK(at.judge(bound.text(), peer).who);
    for (const auto* peer : {"11.0.0.1", "2001:db9::1", "", "::1"}) CHECK_FALSE(at.judge(bound.text(), peer).who);
}

TEST_CASE("a login of a key counts until the key is revoked, one of a token until the token is taken out")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto key = api_key::make();
    store.add(record_of(key, "ann"));
    server at(folder.path);
    at.config.auth_tokens = {{"bob", "secret"}, {"eve", "other"}};
    at.logins->tokens_changed();
    const auto ann = at.judge(key.text()).who, bob = at.judge("secret").who, eve = at.judge("other").who;
    const auto counts = [&at](const login_ptr& who) { return run_coroutine(at.io, at.logins->still_counts(who)); };
    CHECK(counts(ann));
    at.config.auth_tokens = {{"bob", "secret"}, {"eve", "new"}};
    at.logins->tokens_changed();
    CHECK(counts(bob));
    CHECK_FALSE(counts(eve));
    store.revoke(key.id, now());
    while (counts(ann)) {  // the server looks a second later
    }
    CHECK(counts(at.logins->by_link("ann")));
    CHECK(counts(at.logins->by_certificate("ann")));
}

TEST_CASE("links between subjects and names are kept")
{
    identity_store store(database::in_memory);
    store.link({"https://as", "1", "ann"});
    store.link({"https://as", "1", "bob"});
    CHECK(store.principal_of("https://as", "1") == "bob");
    CHECK(store.principal_of("https://as", "2").empty());
    CHECK(store.unlink("https://as", "1"));
    CHECK_FALSE(store.unlink("https://as", "1"));
    CHECK(store.links().empty());
}

TEST_CASE("a server whose last key was revoked, or whose keys cannot be read, is not one without keys")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto key = api_key::make();
    store.add(record_of(key, "ann"));
    CHECK(store.revoke(key.id, now()));
    CHECK(store.has_keys());
    CHECK(identity_store::existing(folder.path / "elsewhere") == nullptr);
    CHECK_THROWS_AS(identity_store::existing(std::string(5000, 'x')), database_error);
}

TEST_CASE("a key whose networks cannot be read is good nowhere")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    server at(folder.path);
    for (const std::string broken : {" ", ",", "10.0.0.0/33", "10.0.0.0/8 ten", "192.0.2.1;"}) {
        const auto key = api_key::make();
        auto record = record_of(key, "ann");
        record.networks = broken;
        store.add(record);
        for (const auto* peer : {"192.0.2.1", "10.0.0.1", "unix", "unknown", ""})
            CHECK_FALSE(at.judge(key.text(), peer).who);
    }
    key_order order;
    order.principal = "ann";
    order.scopes = "mcp:read";
    for (const auto* nothing : {" ", ",", " ,"}) {
        order.networks = nothing;
        CHECK_THROWS_AS(make_key(store, order, now()), std::invalid_argument);
    }
}

TEST_CASE("a key that is bound to networks is not good for a client that nobody knows")
{
    const temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto key = api_key::make();
    auto record = record_of(key, "ann");
    record.networks = "0.0.0.0/0 ::/0";
    store.add(record);
    server at(folder.path);
    for (const auto* peer : {"unknown", "unix", ""}) CHECK_FALSE(at.judge(key.text(), peer).who);
    for (const auto* peer : {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"}) CHECK(at.judge(key.text(), peer).who);
}

TEST_CASE("what a client takes is counted by its address, of IPv6 by its /64")
{
    CHECK(counted_address("192.0.2.1") == "192.0.2.1");
    CHECK(counted_address("2001:db8::1") == counted_address("2001:db8::ffff:ffff:ffff:ffff"));
    CHECK(counted_address("2001:db8::1") != counted_address("2001:db8:0:1::1"));
    CHECK(counted_address("fe80::1%lo") == counted_address("fe80::2"));
    for (const auto* other : {"unix", "unknown", "", "a"}) CHECK(counted_address(other) == other);
}

TEST_CASE("blocks of addresses are checked as they are read")
{
    for (const auto* none : {"", " ", ",", " , "}) CHECK(networks::parse(none).empty());
    CHECK(networks::parse("10.0.0.1,::1").hold("::1"));
    for (const auto* wrong : {"10.0.0.0/33", "ten", "10.0.0/8", "::/129", "10.0.0.1/"})
        CHECK_THROWS_AS(networks::parse(wrong), std::invalid_argument);
}

namespace {

// The other servers of a cluster.
struct others {
    std::map<std::string, key_record> keys;
    bool answer = true;
    int questions = 0;

    shared_logins known()
    {
        shared_logins all;
        all.first_use = [](std::string, std::chrono::seconds) { return is_first(); };
        all.find_key = [this](std::string id) { return find(std::move(id)); };
        return all;
    }
    static awaitable<std::optional<bool>> is_first() { co_return std::optional(true); }
    awaitable<key_elsewhere> find(std::string id)
    {
        ++questions;
        key_elsewhere look;
        look.is_answered = answer;
        if (answer && keys.contains(id)) look.record = keys.at(id);
        co_return look;
    }
};

admission settled(server& at, const api_key& key)
{
    credentials of;
    const auto text = key.text();
    of.scheme = "bearer";
    of.token = text;
    of.peer = "192.0.2.1";
    auto judged = at.logins->judge(of);
    if (!judged.later) return judged;
    run_coroutine(at.io, at.logins->ask(of));
    return at.logins->judge(of);
}

}  // namespace

TEST_CASE("a key that another server keeps is taken, until that has revoked it")
{
    const temporary_folder folder;
    server here(folder.path);
    others rest;
    here.logins->share(rest.known());
    const auto key = api_key::make();
    CHECK(settled(here, key).reason == "unknown_key");
    CHECK(rest.questions == 1);
    CHECK(settled(here, key).reason == "unknown_key");  // is not asked for again within a second
    CHECK(rest.questions == 1);
    const auto good = api_key::make();
    rest.keys[good.id] = record_of(good, "robot");
    const auto judged = settled(here, good);
    REQUIRE(judged.who);
    CHECK(judged.who->principal == "robot");
    CHECK(judged.who->scopes.covers(scope::files));
    auto wrong = good;
    wrong.secret.front() = wrong.secret.front() == 'a' ? 'b' : 'a';
    CHECK(settled(here, wrong).reason == "unknown_key");
    const auto revoked = api_key::make();
    rest.keys[revoked.id] = record_of(revoked, "robot");
    rest.keys[revoked.id].revoked = 1;
    CHECK(settled(here, revoked).reason == "revoked_key");
}

TEST_CASE("a key of this server is its own, whatever another one says of it")
{
    const temporary_folder folder;
    const auto key = api_key::make();
    identity_store(identity_store::file_in(folder.path)).add(record_of(key, "own"));
    server here(folder.path);
    others rest;
    here.logins->share(rest.known());
    rest.keys[key.id] = record_of(key, "foreign");
    CHECK(settled(here, key).who->principal == "own");
    CHECK(rest.questions == 0);
}
