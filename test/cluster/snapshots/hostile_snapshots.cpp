#include "test/cluster/snapshots/snapshot_case.hpp"

using namespace cmcp;
using namespace cmcp::snapshots;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

struct stored_case : snapshot_case {
    snapshot_manifest whole;

    stored_case()
    {
        fs::create_directory(from / "folder");
        write_file(from / "folder/noise", noise(6 << 20, 1));
        write_file(from / "text", "text");
        whole = manifest();
        REQUIRE(whole.chunks.size() >= 4);
    }

    /// A snapshot of one chunk, sealed as its writer seals it.
    snapshot_manifest manifest_of(const std::string& content) const
    {
        auto made_up = whole;
        made_up.chunks = {{sealer.id_of(content), content.size()}};
        made_up.bytes = content.size();
        const auto& id = made_up.chunks[0].id;
        write_file(store / id, sealer.seal(context_of_chunk(sandbox_handle, id), content));
        return made_up;
    }

    fs::path file_of(std::size_t number) const { return store / whole.chunks.at(number).id; }
};

}  // namespace

TEST_CASE("a snapshot is read with its key alone")
{
    stored_case sandbox;
    sandbox.sealer = chunk_sealer(std::string(32, 'K'));
    sandbox.check_refused(sandbox.whole);
    sandbox.sealer = chunk_sealer(std::string(32, 'k'));
    sandbox.read(sandbox.whole);
    CHECK(text_in(sandbox.to / "text") == "text");
}

TEST_CASE("a chunk with another bit, without its end or without anything is refused")
{
    const stored_case sandbox;
    for (std::size_t number = 0; number < sandbox.whole.chunks.size(); ++number) {
        const auto file = sandbox.file_of(number);
        const auto sealed = text_in(file);
        auto changed = sealed;
        changed[changed.size() / 2] ^= 4;
        for (const auto& text : {changed, sealed.substr(0, sealed.size() - 1), sealed + "x", std::string()}) {
            write_file(file, text);
            sandbox.check_refused(sandbox.whole);
        }
        write_file(file, sealed);
    }
    sandbox.read(sandbox.whole);
}

TEST_CASE("a missing chunk is refused, and the sentence names it")
{
    const stored_case sandbox;
    fs::remove(sandbox.file_of(2));
    CHECK_THROWS_WITH(sandbox.read(sandbox.whole), "The chunk " + sandbox.whole.chunks[2].id + " is missing.");
    CHECK(fs::is_empty(sandbox.to));
}

TEST_CASE("chunks in each other's place are refused")
{
    const stored_case sandbox;
    const auto one = text_in(sandbox.file_of(1)), other = text_in(sandbox.file_of(2));
    write_file(sandbox.file_of(1), other);
    write_file(sandbox.file_of(2), one);
    sandbox.check_refused(sandbox.whole);
}

TEST_CASE("a chunk of another sandbox is refused, though it has the same key")
{
    stored_case sandbox;
    auto foreign = sandbox.whole;
    foreign.handle = other_handle;
    sandbox.check_refused(foreign);
}

TEST_CASE("a list of chunks in another order, with fewer, more or none is refused")
{
    const stored_case sandbox;
    auto manifest = sandbox.whole;
    std::swap(manifest.chunks[1], manifest.chunks[2]);
    sandbox.check_refused(manifest);
    manifest = sandbox.whole;
    manifest.chunks.pop_back();
    sandbox.check_refused(manifest);
    manifest = sandbox.whole;
    manifest.chunks.push_back(manifest.chunks.back());
    sandbox.check_refused(manifest);
    manifest.chunks.clear();
    sandbox.check_refused(manifest);
}

TEST_CASE("a chunk of another size than the list says, or an id that is a path, is refused")
{
    const stored_case sandbox;
    auto manifest = sandbox.whole;
    --manifest.chunks[1].size;
    sandbox.check_refused(manifest);
    manifest = sandbox.whole;
    manifest.chunks[1].id = "../store/" + manifest.chunks[1].id;
    sandbox.check_refused(manifest);
}

TEST_CASE("a chunk whose content has another id is refused, though it is sealed for its place")
{
    const stored_case sandbox;
    const auto& chunk = sandbox.whole.chunks[1];
    const std::string content(chunk.size, 'x');
    write_file(sandbox.file_of(1), sandbox.sealer.seal(context_of_chunk(sandbox_handle, chunk.id), content));
    sandbox.check_refused(sandbox.whole);
}

TEST_CASE("a chunk that unpacks to more than a chunk has is refused")
{
    const stored_case sandbox;
    const auto& chunk = sandbox.whole.chunks[1];
    const std::string content(64 << 20, '\0');
    const auto bomb = sandbox.sealer.seal(context_of_chunk(sandbox_handle, chunk.id), content);
    CHECK(bomb.size() < 100'000);
    write_file(sandbox.file_of(1), bomb);
    CHECK_THROWS_WITH(sandbox.read(sandbox.whole), Catch::Matchers::EndsWith("is larger than it may be."));
}

TEST_CASE("an archive is refused that is none, begins elsewhere, or leads out of its folder")
{
    stored_case sandbox;
    using enum backup::entry::kind;
    sandbox.check_refused(sandbox.manifest_of(std::string(2048, '\0')));
    const auto refused = [&](std::initializer_list<backup::entry> entries) {
        text_sink sink;
        backup::archive_writer archive(sink);
        for (const auto& each : entries) add(archive, each);
        archive.finish();
        sandbox.check_refused(sandbox.manifest_of(sink.text));
    };
    const auto root = entry_at("root/workspace", folder);
    refused({});
    refused({entry_at("root/other", folder)});
    refused({entry_at("root/workspace")});
    refused({entry_at("root/workspace/file")});
    refused({root, root});
    refused({root, entry_at("root/other/file")});
    refused({root, entry_at("root/workspace2", folder)});
    refused({root, entry_at("root/workspace/../file")});
    refused({root, entry_at("root/workspace/link", symbolic_link, "/tmp"), entry_at("root/workspace/link/file")});
    refused({root, entry_at("root/workspace/link", hard_link, "root/other/file")});
    refused({root, entry_at("root/workspace/file"), entry_at("root/workspace/file")});
}

TEST_CASE("a folder with something in it is left as it is")
{
    const stored_case sandbox;
    write_file(sandbox.to / "mine", "mine");
    CHECK_THROWS_AS(sandbox.read(sandbox.whole), std::runtime_error);
    CHECK(text_in(sandbox.to / "mine") == "mine");
}

TEST_CASE("what a source of chunks throws comes out, and nothing is left")
{
    const stored_case sandbox;
    const auto failing = [&, from = chunks_in(sandbox.store)](const std::string& id) {
        if (id == sandbox.whole.chunks.back().id) throw std::runtime_error("no connection");
        return from(id);
    };
    CHECK_THROWS_WITH(read_snapshot(sandbox.whole, sandbox.sealer, failing, sandbox.to), "no connection");
    CHECK(fs::is_empty(sandbox.to));
}
