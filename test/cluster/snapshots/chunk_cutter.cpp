#include "snapshots/chunk_cutter.hpp"

#include "test/cluster/snapshots/snapshot_case.hpp"

#include <algorithm>
#include <numeric>

using namespace cmcp::snapshots;
using namespace cmcp::test;

namespace {

constexpr std::uint64_t seed = 42;

std::vector<std::size_t> sizes_of(std::string_view bytes, std::size_t piece, std::uint64_t of_seed = seed)
{
    std::vector<std::size_t> sizes;
    std::string together;
    chunk_cutter cutter(of_seed, [&](std::string_view chunk) {
        sizes.push_back(chunk.size());
        together += chunk;
    });
    for (std::size_t at = 0; at < bytes.size(); at += piece) cutter.put(bytes.substr(at, piece));
    cutter.finish();
    CHECK(together == bytes);
    return sizes;
}

}  // namespace

TEST_CASE("chunks of any data are within the bounds, and together they are the data")
{
    constexpr std::size_t size = 24 << 20;
    for (const auto& bytes : {noise(size, 1), std::string(size, '\0'), lines(size), std::string(size, 'x')}) {
        auto sizes = sizes_of(bytes, 256 * 1024);
        REQUIRE(sizes.size() >= size / largest_chunk);
        CHECK(sizes.back() <= largest_chunk);
        sizes.pop_back();
        CHECK(std::ranges::all_of(sizes, [](auto each) { return each >= least_chunk && each <= largest_chunk; }));
    }
}

TEST_CASE("chunks of random data have 1 MiB in the mean")
{
    constexpr std::size_t size = 128 << 20;
    const auto count = sizes_of(noise(size, 2), 1 << 20).size();
    CHECK(count > 128 * 0.85);
    CHECK(count < 128 * 1.15);
}

TEST_CASE("cuts do not depend on the pieces in which the bytes come")
{
    const auto bytes = noise(9'000'001, 3);
    const auto sizes = sizes_of(bytes, bytes.size());
    CHECK(sizes.size() > 4);
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{777}, std::size_t{65'536}, least_chunk, least_chunk + 1})
        CHECK(sizes_of(bytes, piece) == sizes);
}

TEST_CASE("cuts are the same in all versions, and others with another seed")
{
    const auto bytes = noise(6 << 20, 4);
    CHECK(sizes_of(bytes, 1 << 20) ==
          std::vector<std::size_t>{956'401, 1'033'747, 1'384'651, 331'546, 1'163'446, 1'345'232, 76'433});
    CHECK(sizes_of(bytes, 1 << 20, seed + 1) != sizes_of(bytes, 1 << 20));
}

TEST_CASE("nothing has no chunks, and a few bytes have one")
{
    CHECK(sizes_of("", 1).empty());
    CHECK(sizes_of("few", 1) == std::vector<std::size_t>{3});
    CHECK(sizes_of(noise(least_chunk, 5), 1000) == std::vector<std::size_t>{least_chunk});
}

TEST_CASE("what a chunk's receiver throws comes out of the cutter")
{
    chunk_cutter cutter(seed, [](std::string_view) { throw std::runtime_error("no room"); });
    cutter.put("few");
    CHECK_THROWS_WITH(cutter.finish(), "no room");
}
