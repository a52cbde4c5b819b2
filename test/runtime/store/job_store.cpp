#include "store/job_store.hpp"
#include "test/support/catch.hpp"

#include <unistd.h>

#include <filesystem>

using namespace cmcp;

namespace {

job_record job_of(std::string owner, std::string id, double created, double keep = 0)
{
    job_record record;
    record.id = std::move(id);
    record.owner = std::move(owner);
    record.created = created;
    record.keep = keep;
    return record;
}

void finish_at(job_store& store, job_record record, double when, std::string result = "{}")
{
    record.state = "finished";
    record.ended = when;
    record.result = std::move(result);
    store.finish(record);
}

}  // namespace

TEST_CASE("only the latest ended jobs of an owner are kept, running ones and those with a time always")
{
    job_store store(database::in_memory);
    for (int i = 0; i < 5; ++i) {
        const auto record = job_of("ann", "j" + std::to_string(i), i);
        store.insert(record);
        if (i != 0) finish_at(store, record, i);
    }
    const auto timed = job_of("ann", "timed", 1, 100);
    store.insert(timed);
    finish_at(store, timed, 1);
    store.insert(job_of("bob", "other", 0));
    finish_at(store, job_of("bob", "other", 0), 1);
    CHECK(store.forget_old("ann", 2).size() == 2);
    for (const char* still_there : {"j0", "j3", "j4", "timed", "other"}) CHECK(store.find(still_there, 5).has_value());
    for (const char* gone : {"j1", "j2"}) CHECK_FALSE(store.find(gone, 5));
}

TEST_CASE("a job with a time is not found after it, and does not count any more")
{
    job_store store(database::in_memory);
    const auto record = job_of("ann", "t", 1, 10);
    store.insert(record);
    CHECK(store.find("t", 1'000).has_value());
    finish_at(store, record, 20, "{\"x\":1}");
    CHECK(store.find("t", 29)->result == "{\"x\":1}");
    CHECK(store.usage("ann", 29).own == 1);
    CHECK(store.usage("bob", 29).own == 0);
    CHECK(store.usage("bob", 29).all == 1);
    CHECK(store.usage("ann", 29).bytes == 7);
    store.insert(job_of("bob", "untimed", 1));
    const auto totals = store.totals(29);
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].owner == "ann");
    CHECK(totals[0].count == 1);
    CHECK(store.totals(31).empty());
    CHECK_FALSE(store.find("t", 31));
    CHECK(store.list("ann", 31).empty());
    CHECK(store.usage("ann", 31).all == 0);
    CHECK(store.forget_expired(29).empty());
    CHECK(store.forget_expired(31) == std::vector<std::string>{"t"});
}

TEST_CASE("a job that ran when its server ended is lost, with the reason")
{
    job_store store(database::in_memory);
    store.insert(job_of("ann", "j", 1));
    store.lose_running(5, "the server ended");
    const auto record = store.find("j", 6);
    CHECK(record->state == "lost");
    CHECK(record->ended == 5);
    CHECK(record->message == "the server ended");
}

TEST_CASE("jobs that an earlier version kept are read with their results")
{
    const std::filesystem::path file = "/tmp/cmcp-old-jobs-" + std::to_string(::getpid()) + ".sqlite";
    {
        database old(file);
        old.execute(R"(CREATE TABLE sandboxes (id TEXT PRIMARY KEY, status TEXT NOT NULL);
            CREATE TABLE jobs (
            id TEXT PRIMARY KEY, owner TEXT NOT NULL, sandbox TEXT NOT NULL, tool TEXT NOT NULL, label TEXT NOT NULL,
            state TEXT NOT NULL, created REAL NOT NULL, ended REAL NOT NULL, result TEXT NOT NULL);
            INSERT INTO jobs VALUES ('a', 'ann', '', 't', 'l', 'finished', 1, 2, '{"x":1}');
            INSERT INTO jobs VALUES ('b', 'ann', '', 't', 'l', 'lost', 1, 2, '');
            PRAGMA user_version = 3)");
    }
    {
        job_store store(file);
        CHECK(store.find("a", 9)->result == R"({"content":[],"structuredContent":{"x":1}})");
        CHECK(store.find("b", 9)->result.empty());
    }
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + end);
}

TEST_CASE("the latest jobs of one owner or of all are listed, newest first")
{
    job_store store(database::in_memory);
    for (int i = 0; i < 4; ++i) store.insert(job_of(i % 2 == 0 ? "ann" : "bob", "j" + std::to_string(i), i));
    const auto all = store.latest("", true, 10, 3);
    REQUIRE(all.size() == 3);
    CHECK(all[0].id == "j3");
    const auto own = store.latest("ann", false, 10, 3);
    REQUIRE(own.size() == 2);
    CHECK(own[0].id == "j2");
}
