#include "test/execution/sandbox/run_support.hpp"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

run_request of_principal(run_request request, std::string principal)
{
    request.principal = std::move(principal);
    return request;
}

// Says that the watch is there, waits until the other has executed something, and prints what the watch saw.
constexpr const char* watcher = R"(
import ctypes, os, pathlib, select, sys, time
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK)
for folder in (b'/usr/bin', b'/usr', b'/etc'):
    if libc.inotify_add_watch(watch, folder, 0x21) < 0: sys.exit(os.strerror(ctypes.get_errno()))
if len(sys.argv) > 1: os.stat(sys.argv[1]); open(sys.argv[1], 'rb').close()
pathlib.Path('/workspace/watching').touch()
while not os.path.exists('/workspace/done'): time.sleep(0.01)
seen = os.read(watch, 65536) if select.select([watch], [], [], 0)[0] else b''
print('saw', seen.count(b'sha1sum'), seen.count(b'sha256sum'))
)";

}  // namespace

TEST_CASE("principals have file systems of their own for the machine's programs", "[run][alike]")
{
    if (not_held("Firejail shows the machine's own folders")) return;
    stage s;
    struct stat machine {};
    REQUIRE(::stat("/usr", &machine) == 0);
    const auto device = [&](const std::string& principal) {
        s.run(of_principal(s.bash("stat -c %d /usr"), principal));
        return s.output.out;
    };
    const std::string alice = device("alice"), bob = device("bob");
    CHECK(alice != bob);
    CHECK(alice != std::to_string(machine.st_dev) + "\n");
    CHECK(device("alice") == alice);
}

TEST_CASE("a watch sees its own run and nothing of what the machine executes", "[run][alike]")
{
    if (not_held("Firejail shows the machine's own folders")) return;
    stage s;
    const fs::path watching = fs::path(s.workspace.path) / "watching", done = fs::path(s.workspace.path) / "done";
    std::atomic<bool> over = false;
    std::thread machine([&] {
        while (!over && !fs::exists(watching)) std::this_thread::yield();
        if (!over && std::system("/usr/bin/sha256sum /dev/null >/dev/null") == 0) std::ofstream{done};
    });
    run_request request = of_principal(s.python(watcher), "alice");
    request.argv.emplace_back("/usr/bin/sha1sum");
    s.run(request);
    over = true;
    machine.join();
    CHECK(s.output.out == "saw 1 0\n");
}

}  // namespace cmcp::sandbox::test
