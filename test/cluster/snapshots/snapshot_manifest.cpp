#include "snapshots/snapshot_manifest.hpp"

#include "jsonrpc/read_object.hpp"
#include "test/cluster/snapshots/snapshot_case.hpp"

using namespace cmcp;
using namespace cmcp::snapshots;
using namespace cmcp::test;

namespace {

const chunk_sealer& manifest_sealer()
{
    static const chunk_sealer sealer(std::string(32, 'm'));
    return sealer;
}

snapshot_manifest example()
{
    snapshot_manifest manifest;
    manifest.handle = sandbox_handle;
    manifest.taken = 1'800'000'000;
    manifest.node = "n1";
    manifest.epoch = 0xffff'ffff'ffff'fff0;
    manifest.chunks = {{std::string(64, 'a'), largest_chunk}, {std::string(64, 'b'), 1}};
    manifest.bytes = largest_chunk + 1;
    manifest.record = {{"owner", "ann"}, {"packages", {"numpy", "npm:left-pad"}}, {"image", nullptr}};
    return manifest;
}

/// The example's text with another value in place of a member's, or without it.
std::string with(const char* name, const char* value)
{
    auto parts = jsonrpc::read_object(to_text(example()));
    if (value == nullptr)
        parts.erase(name);
    else
        parts[name] = json::parse(value);
    return json::serialize(parts);
}

std::string chunk_list(const std::string& first, const std::string& size)
{
    return "[[" + first + "," + size + "],[\"" + std::string(64, 'b') + "\",1]]";
}

}  // namespace

TEST_CASE("a manifest comes back from its text with all that is in it")
{
    const auto wanted = example();
    const auto read = from_text(to_text(wanted));
    CHECK(read.handle == wanted.handle);
    CHECK(read.taken == wanted.taken);
    CHECK(read.node == wanted.node);
    CHECK(read.epoch == wanted.epoch);
    CHECK(read.chunks == wanted.chunks);
    CHECK(read.bytes == wanted.bytes);
    CHECK(read.record == wanted.record);
}

TEST_CASE("a text that is no manifest is refused")
{
    const auto id = '"' + std::string(64, 'a') + '"';
    CHECK_NOTHROW(from_text(with("chunks", chunk_list(id, "4194304").c_str())));
    for (const auto& chunks :
         {chunk_list(id, "4194303"), chunk_list(id, "0"), chunk_list(id, "-1"), chunk_list(id, "4194305"),
          chunk_list(id, "4194304.5"), chunk_list(id, "\"4194304\""), chunk_list("\"abc\"", "4194304"),
          chunk_list('"' + std::string(64, 'A') + '"', "4194304"),
          chunk_list("\"../" + std::string(61, 'a') + '"', "4194304"), chunk_list(id + ",1", "4194304"),
          std::string("{}"), std::string("[1]"), std::string("[[]]")})
        CHECK_THROWS_AS(from_text(with("chunks", chunks.c_str())), bad_snapshot);
    for (const char* name : {"format", "handle", "taken", "node", "epoch", "bytes", "record", "chunks"}) {
        CHECK_THROWS_AS(from_text(with(name, nullptr)), bad_snapshot);
        CHECK_THROWS_AS(from_text(with(name, "null")), bad_snapshot);
    }
    CHECK_THROWS_AS(from_text(with("more", "1")), bad_snapshot);
    CHECK_THROWS_AS(from_text(with("handle", "\"../../etc\"")), bad_snapshot);
    CHECK_THROWS_AS(from_text(with("node", "\"\"")), bad_snapshot);
    CHECK_THROWS_AS(from_text(with("bytes", "4194304")), bad_snapshot);
    CHECK_THROWS_AS(from_text(with("epoch", "-1")), bad_snapshot);
    CHECK_THROWS_AS(from_text(with("record", "[]")), bad_snapshot);
    for (const char* text : {"", "[]", "{}", "{\"format\":1", "nothing"})
        CHECK_THROWS_AS(from_text(text), bad_snapshot);
}

TEST_CASE("a manifest of a later version says that it is one")
{
    CHECK_THROWS_WITH(from_text(with("format", "2")), "The manifest has a newer form than this version reads.");
}

TEST_CASE("a sealed manifest is opened for its sandbox alone")
{
    const auto sealed = seal_manifest(example(), manifest_sealer());
    CHECK(open_manifest(sandbox_handle, sealed, manifest_sealer()).chunks == example().chunks);
    CHECK_THROWS_AS(open_manifest(other_handle, sealed, manifest_sealer()), bad_snapshot);
    CHECK_THROWS_AS(open_manifest(sandbox_handle, sealed, chunk_sealer(std::string(32, 'n'))), bad_snapshot);
    const auto foreign = manifest_sealer().seal("manifest " + other_handle, to_text(example()));
    CHECK_THROWS_WITH(open_manifest(other_handle, foreign, manifest_sealer()),
                      "The manifest is that of another sandbox.");
    const auto chunk = manifest_sealer().seal(context_of_chunk(sandbox_handle, ""), to_text(example()));
    CHECK_THROWS_AS(open_manifest(sandbox_handle, chunk, manifest_sealer()), bad_snapshot);
}
