#include "test/cluster/snapshots/snapshot_case.hpp"

#include <fcntl.h>
#include <sys/stat.h>

using namespace cmcp::snapshots;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

// Times differ as they do when a file is written again, but are the same in each run of the test.
void write_at(const fs::path& file, std::string_view text, time_t when)
{
    write_file(file, text);
    const timespec times[2]{{when, 0}, {when, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

void set_folder_time(const fs::path& folder)
{
    const timespec times[2]{{1000, 0}, {1000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), times, 0) == 0);
}

struct large_file_case : snapshot_case {
    std::string bytes = noise(50 << 20, 1);
    fs::path file = from / "large";

    large_file_case()
    {
        write_at(from / "before", "before", 1000);
        put(1000);
    }

    written_snapshot put(time_t when)
    {
        write_at(file, bytes, when);
        set_folder_time(from);
        return write();
    }
};

}  // namespace

TEST_CASE("the same folder twice has no new chunk")
{
    large_file_case sandbox;
    const auto again = sandbox.write();
    CHECK(again.new_chunks == 0);
    CHECK(again.new_bytes == 0);
    CHECK(again.chunks.size() > 30);
}

TEST_CASE("folders of the same files have the same chunks, in whichever order the files were made")
{
    snapshot_case one, other;
    for (int number = 0; number < 300; ++number) {
        write_at(one.from / std::to_string(number), noise(20'000, number), 1000);
        write_at(other.from / std::to_string(299 - number), noise(20'000, 299 - number), 1000);
    }
    set_folder_time(one.from);
    set_folder_time(other.from);
    CHECK(one.write().chunks == other.write().chunks);
}

TEST_CASE("one changed byte of 50 MiB has three new chunks at most: head, byte and end")
{
    large_file_case sandbox;
    sandbox.bytes[25 << 20] ^= 1;
    const auto changed = sandbox.put(2000);
    CHECK(changed.new_chunks >= 2);
    CHECK(changed.new_chunks <= 3);
}

TEST_CASE("one more byte at the beginning of 50 MiB has few new chunks")
{
    large_file_case sandbox;
    sandbox.bytes.insert(0, 1, 'x');
    CHECK(sandbox.put(2000).new_chunks <= 3);
}

TEST_CASE("a new file among others has few new chunks")
{
    snapshot_case sandbox;
    for (int number = 100; number < 200; ++number)
        write_at(sandbox.from / std::to_string(number), noise(300'000, number), 1000);
    set_folder_time(sandbox.from);
    CHECK(sandbox.write().new_chunks > 15);
    write_at(sandbox.from / "150 and more", noise(100'000, 1), 2000);
    set_folder_time(sandbox.from);
    CHECK(sandbox.write().new_chunks <= 4);
}
