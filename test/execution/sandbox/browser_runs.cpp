#include "test/execution/sandbox/run_support.hpp"
#include "wire/packet_socket.hpp"

#include <memory>
#include <utility>

namespace cmcp::sandbox {
namespace {

using namespace test;
using cmcp::test::run_coroutine;

/// A stage whose launcher starts Python in place of a browser.
struct browser_run : stage {
    explicit browser_run(std::uint64_t memory) : stage(launcher_with(memory)) {}

    static native_backend::options launcher_with(std::uint64_t memory)
    {
        auto options = launcher_under_test();
        options.launcher.browser = {"/usr/bin/python3", memory, false};
        return options;
    }

    run_result browse(std::string code)
    {
        auto [ours, theirs] = socket_pair(SOCK_STREAM);
        run_request request;
        request.argv = {"browser", "-c", std::move(code)};
        request.browser.ports = 2;
        request.channel = std::make_shared<unique_fd>(std::move(theirs));
        return run_coroutine(io, backend.run(std::move(request), output), std::chrono::seconds(60) * slowness());
    }
};

}  // namespace

TEST_CASE("a browser's largest process ends when all together need too much memory, and the browser goes on",
          "[run][measured]")
{
    browser_run s(256ull << 20);
    const auto result = s.browse(R"py(
import subprocess, sys
greedy = "all = []\nwhile True: all.append(b'x' * (4 << 20))"
print(subprocess.run([sys.executable, "-c", greedy]).returncode, flush=True)
print("goes on"))py");
    INFO(result.error << s.output.err);
    CHECK(result.why == cause::exited);
    CHECK(s.output.out == "-9\ngoes on\n");
}

TEST_CASE("a browser writes to memory only, executes nothing that it wrote, and reaches its ports", "[run]")
{
    browser_run s(256ull << 20);
    const auto result = s.browse(R"py(
import os, shutil, socket, subprocess
def refused(action):
    try: action()
    except OSError: return True
for place in ("/usr/x", "/etc/x", "/x", "/dev/x"):
    assert refused(lambda: open(place, "w")), place
for place in ("/home/browser", "/tmp", "/dev/shm"):
    shutil.copy("/usr/bin/true", place + "/true")
    assert refused(lambda: subprocess.run([place + "/true"])), place
for port in (3128, 3129): socket.create_connection(("127.0.0.1", port))
assert refused(lambda: socket.create_connection(("127.0.0.1", 3130)))
assert refused(lambda: socket.create_connection(("192.0.2.1", 80)))
assert os.fstat(3).st_ino == os.fstat(4).st_ino
print("confined"))py");
    INFO(result.error << s.output.err);
    CHECK(s.output.out == "confined\n");
}

}  // namespace cmcp::sandbox
