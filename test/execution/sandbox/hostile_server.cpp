#include "sandbox/launcher_process.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include "test/execution/sandbox/run_support.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <utility>

// A captured server has the socket to the launcher and may say what it likes. Nothing may run outside of a run's
// namespaces, and nothing outside of SANDBOX_ROOT may be opened.
namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;
using namespace test;

constexpr std::string_view secret = "a secret of the machine";

std::string kind(message_kind of) { return {static_cast<char>(of)}; }

/// A root of workspaces with a workspace in it, and beside it a folder that no run may reach.
struct workspace_stage {
    workspace_stage()
    {
        for (const auto& folder : {root(), root() / "one", foreign()}) {
            fs::create_directory(folder);
            fs::permissions(folder, fs::perms::all);
        }
        std::ofstream(foreign() / "secret") << secret;
        std::ofstream(root() / "one" / "secret") << "the run's own";
    }
    fs::path root() const { return fs::path(folder.path) / "root"; }
    fs::path foreign() const { return fs::path(folder.path) / "foreign"; }
    std::string workspace() const { return root() / "one"; }
    bool untouched() const
    {
        return std::distance(fs::directory_iterator(foreign()), {}) == 1 &&
               std::distance(fs::directory_iterator(folder.path), {}) == 2;
    }
    temporary_workspace folder;
};

struct heard_run {
    run_result result;
    std::string output;
};

class hostile_server {
public:
    explicit hostile_server(const workspace_stage& at) : hostile_server(options_at(at)) {}
    explicit hostile_server(const launcher_options& options)
        : launcher_(start_launcher(launcher_under_test().launcher_path, options))
    {
        REQUIRE(kind_of(hear().value_or("")) == message_kind::hello);
    }
    hostile_server(const hostile_server&) = delete;
    hostile_server& operator=(const hostile_server&) = delete;
    ~hostile_server()
    {
        launcher_.socket.reset();
        ended_within(10'000);
        siginfo_t info{};
        ::syscall(SYS_waitid, P_PIDFD, launcher_.pidfd.get(), &info, WEXITED, nullptr);
    }

    static launcher_options options_at(const workspace_stage& at)
    {
        launcher_options options;
        options.workspaces = at.root();
        options.waiting = 2;
        options.browser = {"/usr/bin/python3", 1ull << 30, false};
        return options;
    }

    /// False: the launcher has gone.
    bool say(const std::string& bytes, std::span<const int> descriptors = {})
    try {
        while (!send_packet(launcher_.socket.get(), bytes, descriptors)) wait_for(POLLOUT);
        return true;
    } catch (const std::system_error&) {
        return false;
    }

    /// The launcher's next message; nothing: it has gone.
    std::optional<std::string> hear()
    {
        for (;;) {
            auto message = receive_packet(launcher_.socket.get());
            if (message) return message->bytes.empty() ? std::nullopt : std::optional(message->bytes);
            if (!wait_for(POLLIN)) FAIL("the launcher says nothing");
        }
    }

    /// `channel`: descriptor 3 of the run; -1: none.
    heard_run run(run_request request, int channel = -1)
    {
        std::array<int, 2> output{};
        REQUIRE(::pipe2(output.data(), O_CLOEXEC) == 0);
        const unique_fd ours(output[0]);
        unique_fd theirs(output[1]);
        const int descriptors[] = {theirs.get(), theirs.get(), channel};
        if (channel >= 0) request.script.emplace();
        REQUIRE(say(kind(message_kind::start) + encode_start(++last_id_, false, request),
                    {descriptors, channel >= 0 ? 3u : 2u}));
        theirs.reset();
        for (;;) {
            const auto message = hear();
            REQUIRE(message);
            if (kind_of(*message) != message_kind::ended) continue;
            ended_message ended = decode_ended(*message);
            if (ended.id == last_id_) return {std::move(ended.result), read_all(ours.get())};
        }
    }

    /// A run whose output is what the server likes.
    run_result run_into(int output, run_request request)
    {
        const int descriptors[] = {output, output};
        REQUIRE(say(kind(message_kind::start) + encode_start(++last_id_, false, request), descriptors));
        for (;;) {
            const auto message = hear();
            REQUIRE(message);
            if (kind_of(*message) != message_kind::ended) continue;
            ended_message ended = decode_ended(*message);
            if (ended.id == last_id_) return std::move(ended.result);
        }
    }

    bool ended_within(int milliseconds)
    {
        pollfd wait{launcher_.pidfd.get(), POLLIN, 0};
        return ::poll(&wait, 1, milliseconds) == 1;
    }

private:
    bool wait_for(short event)
    {
        pollfd wait{launcher_.socket.get(), event, 0};
        return ::poll(&wait, 1, 30'000 * slowness()) == 1;
    }
    static std::string read_all(int from)
    {
        std::string text;
        char part[4096];
        for (ssize_t count = 0; (count = ::read(from, part, sizeof part)) > 0;)
            text.append(part, static_cast<std::size_t>(count));
        return text;
    }

    launcher_process launcher_;
    std::uint64_t last_id_ = 0;
};

run_request request_in(const std::string& workspace, std::string code)
{
    run_request request;
    request.argv = {"/usr/bin/bash", "-c", std::move(code)};
    request.workspace = workspace;
    request.limits.wall = std::chrono::seconds(10) * slowness();
    return request;
}

// As the message that once told the launcher how to start an interpreter was written.
std::string old_order_to_prepare(const workspace_stage& at)
{
    const std::string marker = "touch " + (at.foreign() / "made").string();
    const std::vector<std::string> argv{"/usr/bin/bash", "-c", marker};
    const std::vector<std::pair<std::string, std::string>> environment{{"LD_PRELOAD", "/workspace/evil.so"}};
    return encoded(std::uint8_t{6}, std::string("/usr/bin/bash"), std::string("stdlib"), std::uint32_t{1},
                   std::uint32_t{1}, argv, environment);
}

std::string mutated(std::string message, std::mt19937& random)
{
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    for (auto changes = 1 + below(4); changes != 0 && !message.empty(); --changes) {
        const std::size_t offset = below(message.size());
        switch (below(5)) {
            case 0:
                message.resize(offset);
                break;
            case 1:
                message.insert(offset, 1 + below(9), static_cast<char>(below(256)));
                break;
            case 2:
                message[offset] = static_cast<char>(message[offset] ^ (1 << below(8)));
                break;
            case 3:
                message.replace(offset, std::min<std::size_t>(4, message.size() - offset), "\xff\xff\xff\x7f");
                break;
            default:
                message.append(message.substr(offset));
                break;
        }
    }
    return message;
}

std::vector<std::string> every_message(const workspace_stage& at)
{
    run_request request = request_in(at.workspace(), "echo > " + (at.foreign() / "made").string());
    request.environment = {{"LD_PRELOAD", "/workspace/evil.so"}};
    request.prepared = true;
    run_request in_cell = request;
    in_cell.cell = "one";
    run_request with_doors = in_cell;
    with_doors.doors = {80, 443};
    run_request browser = request;
    browser.browser = {3, "{}"};
    browser.script.emplace();
    ended_message ended;
    ended.id = 1;
    return {kind(message_kind::start) + encode_start(1, false, request),
            kind(message_kind::start) + encode_start(2, true, request),
            kind(message_kind::start_in_memfd) + encode_start(3, false, request),
            kind(message_kind::start) + encode_start(4, false, in_cell),
            kind(message_kind::start) + encode_start(8, false, browser),
            kind(message_kind::start) + encode_start(9, false, with_doors),
            encode_cancel(1),
            encode_cancel(4),
            encode_end_cell({1, {"", "one"}}),
            encode_list_cells(5),
            encode_cells({5, {}}),
            encode_open_socket({6, {"", "one"}, cell_socket::tcp4}),
            encode_open_socket({7, {"", "one"}, cell_socket::statistics}),
            encode_socket({6, "no"}),
            encode_doors({"", "one"}),
            encode_ended(ended),
            encode_text(message_kind::prepared, "{}"),
            encode_text(message_kind::hello, "{}"),
            old_order_to_prepare(at)};
}

}  // namespace

TEST_CASE("whatever is said to a launcher, nothing runs outside and nothing foreign is touched", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    std::mt19937 random(20261122);
    const unique_fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const int descriptors[] = {nowhere.get(), nowhere.get(), nowhere.get(), nowhere.get(), nowhere.get()};
    const auto messages = every_message(at);
    for (int life = 0; life != 20; ++life) {
        hostile_server server(at);
        for (int i = 0; i != 100; ++i) {
            const std::string& message =
                messages[std::uniform_int_distribution<std::size_t>(0, messages.size() - 1)(random)];
            const auto count = std::uniform_int_distribution<std::size_t>(0, 5)(random);
            if (!server.say(i % 10 == 0 ? message : mutated(message, random), {descriptors, count})) break;
        }
    }
    CHECK(at.untouched());
    hostile_server fresh(at);
    CHECK(fresh.run(request_in(at.workspace(), "cat secret")).output == "the run's own");
}

TEST_CASE("a launcher goes on after orders that it does not understand", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    hostile_server server(at);
    for (const std::string& message :
         {std::string("\x7f"), old_order_to_prepare(at), encode_text(message_kind::prepared, "on"),
          kind(message_kind::start) + "short", kind(message_kind::start_in_memfd),
          kind(message_kind::start) + encode_start(1, false, run_request{}), encode_cancel(99),
          kind(message_kind::cancel)})
        REQUIRE(server.say(message));
    CHECK(server.run(request_in(at.workspace(), "echo still here")).output == "still here\n");
    CHECK(at.untouched());
}

TEST_CASE("of a browser's start the launcher takes the switches, the ports and the policy alone", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    hostile_server server(at);
    run_request request = request_in(at.workspace(), R"py(
import os, resource
print(os.getcwd(), os.listdir("."), sorted(os.environ), resource.getrlimit(resource.RLIMIT_NPROC)[0],
      os.path.exists("/workspace"), open("/etc/chromium/policies/managed/container-mcp.json").read()))py");
    request.cell = request.image = "one";
    request.environment = {{"LD_PRELOAD", "/workspace/evil.so"}};
    request.limits.processes = 1;
    request.browser = {2, "the policy"};
    const auto [ours, theirs] = socket_pair(SOCK_STREAM);
    const auto [result, output] = server.run(request, theirs.get());
    INFO(result.error);
    CHECK(output ==
          "/home/browser [] ['DBUS_SESSION_BUS_ADDRESS', 'HOME', 'LANG', 'LOGNAME', 'PATH', 'TERM', 'USER'] 3001 "
          "False the policy\n");
    const auto door = receive_packet(ours.get());
    REQUIRE(door);
    CHECK(door->bytes == "s");
    CHECK(door->descriptors.size() == 3);
    request.browser.ports = 100;
    CHECK(server.run(request, theirs.get()).result.why == cause::setup_failed);
    launcher_options without = hostile_server::options_at(at);
    without.browser = {};
    request.browser.ports = 1;
    CHECK(hostile_server(without).run(request, theirs.get()).result.why == cause::setup_failed);
}

TEST_CASE("a workspace is a folder beneath the root and nothing else", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    fs::create_directory_symlink(at.foreign(), at.root() / "link");
    fs::create_directory(at.root() / "inner");
    fs::create_directory_symlink("../../foreign", at.root() / "inner" / "link");
    hostile_server server(at);
    for (const std::string& path :
         {at.foreign().string(), (at.root() / "link").string(), (at.root() / "inner/link").string(),
          (at.root() / "one/../../foreign").string(), at.root().string(), at.root().string() + "/", std::string("/"),
          std::string("one"), std::string("/proc/self/root"), at.root().string() + "/one/../../foreign"}) {
        INFO(path);
        const auto refused = server.run(request_in(path, "cat secret; touch made"));
        CHECK(refused.result.why == cause::setup_failed);
        CHECK(refused.output.empty());
    }
    CHECK(at.untouched());
}

TEST_CASE("a workspace that is exchanged for a link while runs start leads no run elsewhere", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    const std::string folder = at.workspace(), link = at.root() / "link";
    fs::create_directory_symlink(at.foreign(), link);
    hostile_server server(at);
    std::atomic<bool> over = false;
    std::thread exchanger([&] {
        constexpr unsigned exchange = 2;  // RENAME_EXCHANGE
        while (!over) ::syscall(SYS_renameat2, AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), exchange);
    });
    int served = 0;
    for (int i = 0; i != 300; ++i) {
        const auto [result, output] = server.run(request_in(folder, "cat secret; echo > made-by-run"));
        served += output == "the run's own" ? 1 : 0;
        if (output.find(secret) != std::string::npos) FAIL("start " << i << " reached the foreign folder");
    }
    over = true;
    exchanger.join();
    CHECK(std::distance(fs::directory_iterator(at.foreign()), {}) == 1);
    INFO(served << " of 300 starts found the workspace in its place");
}

TEST_CASE("an allowed program is not one that only root may read", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    const fs::path program = at.foreign() / "secret";
    fs::permissions(program, fs::perms::owner_all);
    hostile_server server(at);
    run_request request = request_in(at.workspace(), "echo \"$(<" + program.string() + ")\"");
    request.programs = {false, {"bash", program.string(), "../.." + program.string()}};
    CHECK(server.run(request).output.find(secret) == std::string::npos);
}

TEST_CASE("limits above the launcher's own are the launcher's", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    launcher_options options = hostile_server::options_at(at);
    options.most.memory = 64 << 20;
    options.most.processes = 8;
    options.most.file_size = 1 << 20;
    hostile_server server(options);
    run_request request = request_in(at.workspace(), "text=$(head -c 300M /dev/zero | tr '\\0' x); echo ${#text}");
    request.limits.memory = 1ull << 40;
    request.limits.wall = std::chrono::seconds(20) * slowness();
    CHECK(server.run(request).output.find("314572800") == std::string::npos);  // it ends, or gets no more memory
    request = request_in(at.workspace(), "for i in {1..40}; do sleep 5 & done; wait");
    request.limits.processes = 1 << 20;
    const auto forked = server.run(request).result;
    CHECK((forked.why == cause::process_limit || !forked.denied.empty()));
    request = request_in(at.workspace(), "(head -c 2M /dev/zero > large) 2>&-; stat -c %s large");
    request.limits.file_size = 1ull << 40;
    CHECK(server.run(request).output.ends_with("1048576\n"));
}

TEST_CASE("what a server hands over as output keeps its owner and its mode, unless it is a nameless pipe", "[hostile]")
{
    if (under_firejail()) return;
    const workspace_stage at;
    const std::string file = at.foreign() / "secret", pipe = at.foreign() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0644) == 0);
    const std::string code = "chmod 0666 /proc/self/fd/1; chown 1000:1000 /proc/self/fd/1; echo x";
    hostile_server server(at);
    for (const auto& [path, flags] :
         {std::pair(file, O_RDONLY), std::pair(file, O_PATH), std::pair(pipe, O_RDWR),
          std::pair(at.foreign().string(), O_RDONLY | O_DIRECTORY), std::pair(std::string("/dev/null"), O_RDWR),
          std::pair(std::string("/dev/zero"), O_RDWR)}) {
        INFO(path);
        struct stat before {
        }, after{};
        REQUIRE(::stat(path.c_str(), &before) == 0);
        const unique_fd output(::open(path.c_str(), flags | O_CLOEXEC));
        REQUIRE(output);
        if (::geteuid() == 0) server.run_into(output.get(), request_in(at.workspace(), code));
        REQUIRE(::stat(path.c_str(), &after) == 0);
        CHECK(after.st_uid == before.st_uid);
        CHECK(after.st_gid == before.st_gid);
        CHECK(after.st_mode == before.st_mode);
    }
    const unique_fd memory(static_cast<int>(::syscall(SYS_memfd_create, "output", 1)));
    server.run_into(memory.get(), request_in(at.workspace(), "echo x"));
    struct stat status {};
    REQUIRE(::fstat(memory.get(), &status) == 0);
    CHECK(status.st_uid == ::geteuid());
    CHECK(server.run(request_in(at.workspace(), "echo again > /dev/stdout")).output == "again\n");
}

TEST_CASE("an interpreter is loaded in a jail: no capability, and nothing but what a run sees", "[hostile]")
{
    const std::string zygote = std::string(CMCP_BUILD_DIR) + "/container-mcp-zygote";
    if (under_firejail() || !fs::exists(zygote)) return;
    const workspace_stage at;
    launcher_options options = hostile_server::options_at(at);
    auto& loaded = options.zygote.emplace();
    loaded.path = zygote;
    loaded.profile = "stdlib";
    const std::string before_the_run =
        "import os, re\n"
        "status = open('/proc/self/status').read()\n"
        "seen = [re.search('CapEff:\\\\s*(\\\\w+)', status)[1],"
        " re.search('CapBnd:\\\\s*(\\\\w+)', status)[1],"
        " os.path.exists('/etc/shadow'), os.path.exists('" +
        at.root().string() + "'), os.access('/usr', os.W_OK)]";
    loaded.argv = {
        "/usr/bin/python3", "-I", "-B", "-X", "utf8", "-c", before_the_run + "\n# A run begins.\nprint(*seen)"};
    hostile_server server(options);
    run_request request;
    request.argv = loaded.argv;
    request.workspace = at.workspace();
    request.prepared = true;
    std::string output;
    for (bool prepared = false; !prepared;) {
        const auto heard = server.run(request);
        REQUIRE(heard.result.error.empty());
        prepared = heard.result.prepared;
        output = heard.output;
    }
    CHECK(output == "0000000000000000 0000000000000000 False False False\n");
}

}  // namespace cmcp::sandbox
