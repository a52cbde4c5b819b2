#include "sealing/sealing.hpp"

#include "test/cluster/snapshots/snapshot_case.hpp"
#include "text/encodings.hpp"

#include <sys/mman.h>

using namespace cmcp;
using namespace cmcp::snapshots;
using namespace cmcp::test;

namespace {

const chunk_sealer& one_sealer()
{
    static const chunk_sealer sealer(std::string(32, 'k'));
    return sealer;
}

/// Zeros that take no memory.
struct many_zeros {
    explicit many_zeros(std::size_t bytes)
        : size(bytes), start(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
    {
        REQUIRE(start != MAP_FAILED);
    }
    many_zeros(const many_zeros&) = delete;
    many_zeros& operator=(const many_zeros&) = delete;
    ~many_zeros() { ::munmap(start, size); }
    std::string_view view() const { return {static_cast<const char*>(start), size}; }
    std::size_t size;
    void* start;
};

}  // namespace

TEST_CASE("a sealed text opens to what it was, and shows none of it")
{
    for (const auto& plain : {std::string(), std::string("short"), lines(3 << 20), noise(largest_chunk, 1)}) {
        const auto sealed = one_sealer().seal("chunk a", plain);
        CHECK(sealed.size() <= sealed_bound(plain.size()));
        CHECK(one_sealer().open("chunk a", sealed, plain.size()) == plain);
        CHECK((plain.empty() || sealed.find(plain.substr(0, 5)) == std::string::npos));
    }
}

TEST_CASE("a text is sealed another way each time")
{
    CHECK(one_sealer().seal("a", "text") != one_sealer().seal("a", "text"));
}

TEST_CASE("a text is opened by its key and its context alone")
{
    const auto sealed = one_sealer().seal("chunk a", "text");
    CHECK_THROWS_AS(one_sealer().open("chunk b", sealed, 100), bad_snapshot);
    CHECK_THROWS_AS(one_sealer().open("", sealed, 100), bad_snapshot);
    CHECK_THROWS_AS(chunk_sealer(std::string(32, 'K')).open("chunk a", sealed, 100), bad_snapshot);
    CHECK(chunk_sealer(std::string(32, 'k')).open("chunk a", sealed, 100) == "text");
}

TEST_CASE("each bit of a sealed text counts, and each byte of its length")
{
    const auto sealed = one_sealer().seal("a", "a text of some length");
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        auto changed = sealed;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        CHECK_THROWS_AS(one_sealer().open("a", changed, 100), bad_snapshot);
    }
    for (std::size_t size = 0; size < sealed.size(); ++size)
        CHECK_THROWS_AS(one_sealer().open("a", sealed.substr(0, size), 100), bad_snapshot);
    CHECK_THROWS_AS(one_sealer().open("a", sealed + "x", 100), bad_snapshot);
}

TEST_CASE("a small sealed text that unpacks to 1 GiB is refused")
{
    const many_zeros zeros(std::size_t{1} << 30);
    const auto bomb = one_sealer().seal("a", zeros.view());
    CHECK(bomb.size() < 1 << 20);
    CHECK_THROWS_WITH(one_sealer().open("a", bomb, largest_chunk), "The a is larger than it may be.");
    const auto fits = one_sealer().seal("a", std::string(largest_chunk, '\0'));
    CHECK(one_sealer().open("a", fits, largest_chunk).size() == largest_chunk);
    CHECK_THROWS_AS(one_sealer().open("a", fits, largest_chunk - 1), bad_snapshot);
}

TEST_CASE("ids are digests that another key makes otherwise")
{
    const chunk_sealer other(std::string(32, 'K'));
    const auto id = one_sealer().id_of("content");
    CHECK(is_sha256_hex(id));
    CHECK(id == chunk_sealer(std::string(32, 'k')).id_of("content"));
    CHECK(id != one_sealer().id_of("Content"));
    CHECK(id != other.id_of("content"));
    CHECK(id != sha256_hex("content"));
    CHECK(one_sealer().cut_seed() != other.cut_seed());
}

TEST_CASE("a key has 32 bytes")
{
    for (const std::size_t size : {0, 16, 31, 33})
        CHECK_THROWS_AS(chunk_sealer(std::string(size, 'k')), std::runtime_error);
}
