#include "store/sandbox_store.hpp"
#include "store/record_folder.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct folder {
    folder()
    {
        std::string name = "/tmp/cmcp-store-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path = name;
    }
    ~folder() { std::filesystem::remove_all(path); }
    std::filesystem::path file() const { return path / "records.sqlite"; }
    std::filesystem::path path;
};

sandbox_record sandbox(std::string id, std::string owner, std::string name)
{
    sandbox_record record;
    record.id = std::move(id);
    record.owner = std::move(owner);
    record.name = std::move(name);
    record.image = "native";
    record.created = record.last_used = 1000;
    return record;
}

}  // namespace

TEST_CASE("a sandbox is found by its owner and by nobody else")
{
    folder at;
    sandbox_store store(at.file());
    store.insert(sandbox("a", "ann", "one"));
    REQUIRE(store.find("ann", "a").has_value());
    CHECK(store.find("ann", "a")->name == "one");
    CHECK(store.find("ann", "one")->id == "a");
    CHECK_FALSE(store.find("bob", "a"));
    CHECK_FALSE(store.find("bob", "one"));
    CHECK(store.list("bob").empty());
    CHECK(store.count("ann") == 1);
}

TEST_CASE("names are unique for one owner, and free again as soon as the deletion begins")
{
    folder at;
    sandbox_store store(at.file());
    store.insert(sandbox("a", "ann", "one"));
    CHECK_THROWS_AS(store.insert(sandbox("b", "ann", "one")), database_conflict);
    CHECK_NOTHROW(store.insert(sandbox("c", "bob", "one")));
    CHECK(store.begin_delete("a"));
    CHECK_FALSE(store.begin_delete("a"));
    CHECK_FALSE(store.find("ann", "a"));
    CHECK_NOTHROW(store.insert(sandbox("d", "ann", "one")));
    REQUIRE(store.unfinished_deletes().size() == 1);
    CHECK(store.unfinished_deletes()[0].id == "a");
    store.finish_delete("a");
    CHECK(store.unfinished_deletes().empty());
}

TEST_CASE("the latest sandbox is the one of the same session, where sessions count")
{
    folder at;
    sandbox_store store(at.file());
    auto first = sandbox("a", "", "one");
    first.session = "s1";
    auto second = sandbox("b", "", "two");
    second.session = "s2";
    second.created = 2000;
    store.insert(first);
    store.insert(second);
    CHECK(store.latest("", "s1", false)->id == "a");
    CHECK(store.latest("", "s2", false)->id == "b");
    CHECK_FALSE(store.latest("", "", false));
    CHECK(store.latest("", "s1", true)->id == "b");
}

TEST_CASE("records and packages are there after the store was opened again")
{
    folder at;
    {
        sandbox_store store(at.file());
        store.insert(sandbox("a", "ann", "one"));
        store.set_packages("a", {{"numpy", "1.2"}, {"six", "1.16"}});
        store.set_disk("a", 77);
    }
    sandbox_store store(at.file());
    CHECK(store.packages("a").at("numpy") == "1.2");
    CHECK(store.find("ann", "a")->disk == 77);
    CHECK(store.disk("ann") == 77);
}

TEST_CASE("packages and snapshots go with their sandbox")
{
    folder at;
    sandbox_store store(at.file());
    store.insert(sandbox("a", "ann", "one"));
    store.set_packages("a", {{"numpy", "1.2"}});
    store.insert(snapshot_record{"s", "ann", "a", "before", 1, 10});
    CHECK_THROWS_AS(store.insert(snapshot_record{"t", "ann", "a", "before", 2, 10}), database_conflict);
    CHECK(store.find_snapshot("a", "before")->id == "s");
    CHECK(store.find_snapshot("a", "s")->name == "before");
    CHECK(store.disk("ann") == 10);
    store.begin_delete("a");
    store.finish_delete("a");
    CHECK(store.packages("a").empty());
    CHECK(store.all_snapshots().empty());
}

TEST_CASE("the first process to open the folder is alone until it lets others in")
{
    folder at;
    record_folder first(at.path);
    CHECK(first.alone());
    first.share();
    record_folder second(at.path);
    CHECK_FALSE(second.alone());
    sandbox_store one(first.database());
    sandbox_store(second.database()).insert(sandbox("a", "ann", "one"));
    CHECK(one.find("ann", "a").has_value());
}

TEST_CASE("a store of a newer version is refused with a sentence")
{
    folder at;
    {
        sandbox_store store(at.file());
        database raw(store.file());
        raw.execute("PRAGMA user_version = 999");
    }
    CHECK_THROWS_WITH(sandbox_store(at.file()), Catch::Contains("newer version"));
}

TEST_CASE("sandboxes are chosen by owner and by a part of id, name or owner, page by page, and counted by owner")
{
    folder at;
    sandbox_store store(at.file());
    for (const char* id : {"d", "b", "c", "a"}) store.insert(sandbox(id, "ann", std::string("box-") + id));
    auto other = sandbox("x", "bob", "100%_box");
    other.disk = 7;
    store.insert(other);
    store.set_disk("x", 7);
    const auto first = store.choose({.owner = "ann", .most = 3});
    REQUIRE(first.size() == 3);
    CHECK(first[0].id == "a");
    const auto second = store.choose({.owner = "ann", .after = first[2].id, .most = 3});
    REQUIRE(second.size() == 1);
    CHECK(second[0].id == "d");
    CHECK(store.choose({.of_all = true, .match = "bob"}).size() == 1);
    CHECK(store.choose({.of_all = true, .match = "%_"}).size() == 1);
    CHECK(store.choose({.owner = "ann", .match = "100"}).empty());
    CHECK(store.count({.of_all = true, .after = "d", .most = 1}) == 5);
    CHECK(store.find_of_any("x")->owner == "bob");
    CHECK_FALSE(store.find_of_any("100%_box"));
    const auto totals = store.totals();
    REQUIRE(totals.size() == 2);
    CHECK(totals[0].count == 4);
    CHECK(totals[1].disk == 7);
    store.insert(snapshot_record{"s", "bob", "x", "before", 1, 5});
    CHECK(store.totals()[1].disk == store.disk("bob"));
    CHECK(store.totals()[1].count == 1);
    CHECK(store.totals()[1].defaults == 0);
}

TEST_CASE("totals count default sandboxes apart, as the quota does, and all disk together")
{
    folder at;
    sandbox_store store(at.file());
    store.insert(sandbox("a", "ann", "mine"));
    for (const char* id : {"d", "e"}) {
        auto record = sandbox(id, "ann", std::string("default-") + id);
        record.home = std::string("callers/") + id;
        store.insert(record);
        store.set_disk(id, 5);
    }
    REQUIRE(store.begin_delete("e"));
    const auto totals = store.totals();
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].count == store.count("ann"));
    CHECK(totals[0].count == 1);
    CHECK(totals[0].defaults == 1);
    CHECK(totals[0].disk == 10);
}

TEST_CASE("sandboxes are chosen by use and by size, page by page, also where values are the same")
{
    folder at;
    sandbox_store store(at.file());
    for (const char* id : {"a", "b", "c", "d"}) store.insert(sandbox(id, "ann", id));
    store.touch("b", 2000000000.25);
    store.touch("d", 2000000001);
    store.set_disk("c", 1ull << 40);
    for (const auto by : {sandbox_order::used, sandbox_order::disk}) {
        sandbox_choice wanted{.owner = "ann", .most = 1, .by = by};
        std::string ids;
        for (;;) {
            const auto page = store.choose(wanted);
            if (page.empty()) break;
            ids += page[0].id;
            wanted.after = wanted.cursor_of(page[0]);
        }
        CHECK(ids == (by == sandbox_order::used ? "dbca" : "cdba"));
    }
    CHECK(store.choose({.owner = "ann", .after = "no place", .by = sandbox_order::used}).size() == 0);
}

TEST_CASE("a default sandbox comes before all others where its caller asks by use")
{
    folder at;
    sandbox_store store(at.file());
    for (const char* id : {"a", "b", "c", "d"}) {
        auto record = sandbox(id, id == std::string("d") ? "bob" : "ann", id);
        if (id == std::string("a") || id == std::string("d")) record.home = std::string("callers/") + id;
        store.insert(record);
    }
    for (const char* id : {"b", "c", "d"}) store.touch(id, 2000000000.25);
    sandbox_choice wanted{.of_all = true, .most = 1, .by = sandbox_order::used, .first_home = "callers/a"};
    std::string ids;
    for (auto page = store.choose(wanted); !page.empty(); page = store.choose(wanted)) {
        ids += page[0].id;
        wanted.after = wanted.cursor_of(page[0]);
    }
    CHECK(ids == "adcb");
    CHECK(store.count(wanted) == 4);
}

TEST_CASE("the listing of an owner has its sandboxes with their packages, and nobody else's")
{
    folder at;
    sandbox_store store(at.file());
    for (const char* id : {"a", "b", "c"}) store.insert(sandbox(id, "ann", id));
    store.insert(sandbox("d", "bob", "one"));
    store.set_packages("b", {{"numpy", "2.0"}, {"attrs", "25.1"}});
    store.set_packages("d", {{"secret", "1"}});
    store.begin_delete("c");
    const auto all = sandbox_store::listing(at.file(), "ann");
    REQUIRE(all.size() == 2);
    CHECK(all[0].record.id == "a");
    CHECK(all[0].packages.empty());
    using packages = std::vector<std::pair<std::string, std::string>>;
    CHECK(all[1].packages == packages{{"attrs", "25.1"}, {"numpy", "2.0"}});
    CHECK(sandbox_store::listing(at.file(), "carl").empty());
}

TEST_CASE("the listing takes time linear in the sandboxes and packages")
{
    const auto records = [](std::size_t size) {
        auto at = std::make_shared<folder>();
        sandbox_store store(at->file());
        for (std::size_t i = 0; i < size; ++i) {
            const auto id = "sbx_" + std::to_string(i);
            store.insert(sandbox(id, "ann", id));
            store.set_packages(id, {{"numpy", "2.0"}, {"attrs", "25.1"}});
        }
        return at;
    };
    const auto read = [](const auto& at) { sandbox_store::listing(at->file(), "ann"); };
    CHECK(growth(records, read, 500) < linear_growth);
}
