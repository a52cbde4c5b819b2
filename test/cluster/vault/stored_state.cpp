#include "vault/stored_state.hpp"
#include "sealing/bad_snapshot.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string handle = "sbx_n1_0123456789abcdef0123456789abcdef";
const std::string snapshot = "snp_n1_0123456789abcdef0123456789abcdef";

snapshots::chunk_reference chunk(char digit) { return {std::string(64, digit), 1000}; }

stored_state some_state()
{
    stored_state state;
    state.epoch = 3;
    state.used = 1000.5;
    state.taken = 1001;
    state.released = true;
    state.files = {{chunk('a'), chunk('b')}, 2000};
    state.snapshots[snapshot] = {{chunk('a'), chunk('c')}, 2000};
    state.calls = {{chunk('d')}, 1000};
    return state;
}

stored_record some_record()
{
    stored_record record;
    record.about.id = handle;
    record.about.owner = "ann";
    record.about.name = "work";
    record.about.image = "native";
    record.about.created = 900;
    record.about.last_used = 1000.5;
    record.about.disk = 2000;
    record.packages["npm:left-pad"] = "1.0.0";
    record.snapshots.push_back({snapshot, "ann", handle, "before", 950, 1000});
    return record;
}

}  // namespace

TEST_CASE("what a bucket has of a sandbox is known after a restart")
{
    const temporary_folder folder;
    CHECK(read_kept(folder.path).used == -1);
    write_kept(folder.path, some_state());
    const auto state = read_kept(folder.path);
    CHECK(state.epoch == 3);
    CHECK(state.used == 1000.5);
    CHECK(state.released);
    CHECK(state.files.chunks == some_state().files.chunks);
    CHECK(state.files.bytes == 2000);
    CHECK(state.snapshots.at(snapshot).chunks.back().id == std::string(64, 'c'));
    CHECK(state.ids() == std::vector<std::string>{std::string(64, 'a'), std::string(64, 'b'), std::string(64, 'c'),
                                                  std::string(64, 'd')});
    CHECK(state.calls.chunks == some_state().calls.chunks);
}

TEST_CASE("a state that the version before has written is read")
{
    const temporary_folder folder;
    std::ofstream(folder.path / "kept.json")
        << R"({"epoch": 2, "used": 5, "workspace": {"bytes": 7, "chunks": [["a", 7]]}})";
    CHECK(read_kept(folder.path).files.bytes == 7);
}

TEST_CASE("a state that cannot be read is one in which nothing is kept")
{
    const temporary_folder folder;
    for (const auto* text : {"", "{", "[]", R"({"workspace": 7, "snapshots": {"..": {}}, "epoch": -1})"}) {
        std::ofstream(folder.path / "kept.json") << text;
        const auto state = read_kept(folder.path);
        CHECK(state.epoch == 0);
        CHECK(state.used == -1);
        CHECK(state.ids().empty());
    }
}

TEST_CASE("a manifest has the record of its sandbox, with packages and snapshots")
{
    const auto manifest = manifest_of(some_record(), some_state(), "n1");
    CHECK(manifest.handle == handle);
    CHECK(manifest.epoch == 3);
    CHECK(is_released(manifest, 3));
    const auto again = snapshots::from_text(snapshots::to_text(manifest));
    const auto record = record_in(again);
    CHECK(record.about.owner == "ann");
    CHECK(record.about.status == "stopped");
    CHECK(record.about.last_used == 1000.5);
    CHECK(record.packages == some_record().packages);
    REQUIRE(record.snapshots.size() == 1);
    CHECK(record.snapshots[0].name == "before");
    CHECK(record.snapshots[0].sandbox == handle);
    CHECK(snapshots_in(again).at(snapshot).bytes == 2000);
}

TEST_CASE("a paused sandbox is paused at the server that takes it over, and its lease and account are the same")
{
    auto paused = some_record();
    paused.about.status = "paused";
    paused.about.machine = true;
    paused.about.user = "ann-1";
    paused.about.lease = {2000.5, 60, true};
    const auto manifest = manifest_of(paused, some_state(), "n1");
    const auto about = record_in(snapshots::from_text(snapshots::to_text(manifest))).about;
    CHECK((about.is_paused() && about.machine && about.user == "ann-1"));
    CHECK((about.lease.ends == 2000.5 && about.lease.length == 60 && about.lease.deletes));
}

TEST_CASE("what an owner has released is not released by the next one, which has not kept anything yet")
{
    const auto manifest = manifest_of(some_record(), some_state(), "n1");
    CHECK(is_released(manifest, 2));
    CHECK_FALSE(is_released(manifest, 4));
}

TEST_CASE("a manifest without a record, or with snapshots that have no handles, is none of a sandbox")
{
    auto manifest = manifest_of(some_record(), some_state(), "n1");
    manifest.record["snapshots"].as_array()[0].as_object()["id"] = "../../etc";
    CHECK_THROWS_AS(record_in(manifest), snapshots::bad_snapshot);
    manifest.record = {};
    CHECK_THROWS_AS(record_in(manifest), snapshots::bad_snapshot);
    CHECK(snapshots_in(manifest).empty());
}
