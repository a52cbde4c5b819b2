#include "test/execution/files/file_support.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <csignal>
#include <thread>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("file reading stays in the root for every hostile path")
{
    file_scene scene;
    scene.link(scene.base / "outside/secret.txt", "link_out");
    scene.link("../outside/secret.txt", "link_rel_out");
    scene.link(scene.base / "outside", "dirlink");
    scene.link("chain2", "chain1");
    scene.link("link_out", "chain2");
    scene.link("loop", "loop");
    scene.link("/proc/self/environ", "procself");
    const std::string base = scene.base.string();
    for (const std::string& path : {std::string("../outside/secret.txt"),
                                    base + "/outside/secret.txt",
                                    base + "/workspace-evil/secret.txt",
                                    std::string("/etc/passwd"),
                                    std::string("sub/../../outside/secret.txt"),
                                    std::string("%2e%2e/outside/secret.txt"),
                                    std::string("..%2foutside%2fsecret.txt"),
                                    std::string("~/secret.txt"),
                                    std::string("$HOME/.bashrc"),
                                    std::string("．．／outside／secret.txt"),
                                    std::string("hello.txt/../../outside/secret.txt"),
                                    "//" + base + "/outside/secret.txt",
                                    base + "/workspace/../outside/secret.txt",
                                    std::string("link_out"),
                                    std::string("link_rel_out"),
                                    std::string("dirlink/secret.txt"),
                                    std::string("chain1"),
                                    std::string("loop"),
                                    std::string("procself"),
                                    std::string("/proc/self/environ"),
                                    std::string("/proc/self/cwd/../outside/secret.txt"),
                                    std::string("/dev/fd/0"),
                                    std::string("/dev/zero"),
                                    std::string("..")}) {
        INFO(path);
        CHECK(scene.read_refusal(path) != "");
    }
}

TEST_CASE("file reading names the path argument when the path itself is bad")
{
    file_scene scene;
    std::string long_path;
    for (int i = 0; i < 3000; ++i) long_path += "a/";
    for (const std::string& path : {std::string(), std::string(1, '\0'), std::string("hello.txt\0.md", 13), long_path,
                                    std::string("\xff\xfe"), std::string(5000, 'a')}) {
        const std::string sentence = scene.read_refusal(path);
        INFO(sentence);
        CHECK(sentence.starts_with("path "));
    }
    CHECK(contains(scene.read_refusal(std::string(300, 'a')), "255 bytes"));
}

TEST_CASE("file reading gives what is inside the root, also by a leading slash and by links that stay inside")
{
    file_scene scene;
    scene.put("naïve ✓ file.txt", "unicode\n");
    scene.link("hello.txt", "link_in");
    scene.link("../hello.txt", "sub/up");
    CHECK(scene.read("./hello.txt").content == "hello\n");
    CHECK(scene.read("/hello.txt").content == "hello\n");
    CHECK(scene.read("sub/inner.txt").content == "inner\n");
    CHECK(scene.read("sub/../hello.txt").content == "hello\n");
    CHECK(scene.read("naïve ✓ file.txt").content == "unicode\n");
    CHECK(scene.read("link_in").content == "hello\n");
    CHECK(scene.read("sub/up").content == "hello\n");
    const auto content = scene.read("hello.txt");
    CHECK(content.size == 6);
    CHECK(content.modified > 1.6e9);
    CHECK_FALSE(content.next_offset);
}

TEST_CASE("file reading refuses folders and says which tool lists them")
{
    file_scene scene;
    CHECK(contains(scene.read_refusal("sub"), "file_list"));
    CHECK(contains(scene.read_refusal("/"), "file_list"));
    CHECK(scene.read_refusal("hello.txt/") != "");
}

TEST_CASE("file reading refuses a FIFO, a socket and a device without waiting")
{
    file_scene scene;
    REQUIRE(::mkfifo((scene.workspace / "fifo").c_str(), 0666) == 0);
    CHECK(contains(scene.read_refusal("fifo"), "regular file"));

    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (scene.workspace / "s").string().copy(address.sun_path, sizeof address.sun_path - 1);
    const unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(contains(scene.read_refusal("s"), "regular file"));

    if (::mknod((scene.workspace / "zero").c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0)
        CHECK(contains(scene.read_refusal("zero"), "regular file"));
}

TEST_CASE("file reading answers at once while a lease or a lock is held")
{
    file_scene scene;
    auto* old = std::signal(SIGIO, SIG_IGN);
    const unique_fd held(::open((scene.workspace / "hello.txt").c_str(), O_RDWR | O_CLOEXEC));
    struct flock whole {};
    whole.l_type = F_WRLCK;
    REQUIRE(::fcntl(held.get(), F_SETLK, &whole) == 0);
    CHECK(scene.read("hello.txt").content == "hello\n");
    scene.write("hello.txt", "written\n");
    CHECK(scene.read("hello.txt").content == "written\n");

    const unique_fd leased(::open((scene.workspace / "sub/inner.txt").c_str(), O_RDWR | O_CLOEXEC));
    if (::fcntl(leased.get(), F_SETLEASE, F_WRLCK) == 0) CHECK(contains(scene.read_refusal("sub/inner.txt"), "lease"));
    std::signal(SIGIO, old);
}

TEST_CASE("file reading refuses a hard link to a file of another owner", "[root]")
{
    if (::geteuid() != 0) return;
    file_scene scene;
    fs::create_hard_link(scene.base / "outside/secret.txt", scene.workspace / "hard_out");
    REQUIRE(::chown((scene.workspace / "hard_out").c_str(), 12345, 12345) == 0);
    CHECK(contains(scene.read_refusal("hard_out"), "hard link"));
}

TEST_CASE("file reading refuses a huge sparse file and reads parts of it")
{
    file_scene scene;
    scene.put("sparse", "");
    fs::resize_file(scene.workspace / "sparse", 10ull << 30);
    const std::string sentence = scene.read_refusal("sparse");
    CHECK(contains(sentence, "FILE_MAX_SIZE_MB"));
    CHECK(contains(sentence, "offset"));
    const auto part = read_file(scene.root(), scene.policy, {"sparse", "base64", 5ull << 30, 3});
    CHECK(part.content == "AAAA");
    CHECK(part.next_offset == (5ull << 30) + 3);
    const auto most = read_file(scene.root(), scene.policy, {"sparse", "utf-8", 0, 1ull << 40});
    CHECK(most.content.size() == scene.policy.max_size());
}

TEST_CASE("file reading goes through a file in parts that end with whole characters")
{
    file_scene scene;
    scene.put("text.txt", "aä✓😀z");
    std::string all;
    file_read_request what{"text.txt", "utf-8", 0, 4};
    std::size_t parts = 0;
    for (bool more = true; more; ++parts) {
        const auto part = read_file(scene.root(), scene.policy, what);
        all += part.content;
        more = part.next_offset.has_value();
        what.offset = part.next_offset.value_or(0);
    }
    CHECK(all == "aä✓😀z");
    CHECK(parts == 4);
    CHECK(contains(file_scene::refusal([&] {
                       read_file(scene.root(), scene.policy, {"text.txt", "utf-8", 6, 1});
                   }),
                   "limit"));
    CHECK(file_scene::refusal([&] { read_file(scene.root(), scene.policy, {"text.txt", "utf-8", 2, 4}); }) != "");
    const auto behind = read_file(scene.root(), scene.policy, {"text.txt", "utf-8", 1000, 4});
    CHECK(behind.content.empty());
    CHECK_FALSE(behind.next_offset);
}

TEST_CASE("file reading is bounded by the size of a file that grows")
{
    file_scene scene;
    scene.put("grow.bin", std::string(1000, 'x'));
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        std::ofstream out(scene.workspace / "grow.bin", std::ios::app);
        for (int i = 0; i < 2000 && !stop; ++i) out << std::string(200, 'x') << std::flush;
    });
    for (int i = 0; i < 200; ++i) {
        const auto content = scene.read("grow.bin");
        if (content.content.size() != content.size) FAIL("the content is not of the size that was told");
    }
    stop = true;
    writer.join();
}

TEST_CASE("file reading tells to use base64 for bytes that are no text")
{
    file_scene scene;
    scene.put("bad.bin",
              "\xff\xfd\xfe"
              "abc");
    CHECK(contains(scene.read_refusal("bad.bin"), "base64"));
    CHECK(scene.read("bad.bin", "base64").content == "//3+YWJj");
    scene.put("cut.txt", "ab\xe2\x9c");
    CHECK(contains(scene.read_refusal("cut.txt"), "base64"));
    scene.put("surrogate.txt", "\xed\xa0\x80");
    CHECK(contains(scene.read_refusal("surrogate.txt"), "base64"));
}

TEST_CASE("file reading and writing know other encodings and refuse unknown ones")
{
    file_scene scene;
    scene.put("latin.txt", "na\xefve");
    CHECK(scene.read("latin.txt", "latin-1").content == "naïve");
    CHECK(scene.read("latin.txt", "ISO_8859-1").content == "naïve");
    scene.write("utf16.txt", "a✓", "utf-16le");
    CHECK(scene.get("utf16.txt") == std::string("a\0\x13\x27", 4));
    scene.write("bom.txt", "a✓😀", "utf-16");
    CHECK(scene.read("bom.txt", "utf-16").content == "a✓😀");
    CHECK(contains(file_scene::refusal([&] { scene.write("l.txt", "✓", "latin-1"); }), "utf-8"));
    CHECK_FALSE(fs::exists(scene.workspace / "l.txt"));
    for (const char* name : {"../../../tmp/probe_//TRANSLIT", "utf-8//IGNORE", "klingon", "", "ISO-2022-CN-EXT"})
        CHECK(scene.read_refusal("hello.txt", name).starts_with("encoding "));
}

TEST_CASE("file extensions are checked on the last one, in any case, and the refusal lists what is allowed")
{
    file_scene scene;
    scene.policy = file_policy(1 << 20, {"txt", ".MD"});
    scene.put("x.tar.txt", "1");
    scene.put("A.TXT", "2");
    scene.put("a.md", "3");
    CHECK(scene.read_refusal("x.tar.txt") == "");
    CHECK(scene.read_refusal("A.TXT") == "");
    CHECK(scene.read_refusal("a.md") == "");
    for (const char* name : {"run.sh", "x.txt.sh", "noextension", ".txt", "sub/.profile", "x.", "dir.txt/file"}) {
        const std::string sentence = scene.write_refusal(name);
        INFO(name << ": " << sentence);
        CHECK(contains(sentence, "FILE_ALLOWED_EXTENSIONS"));
        CHECK(contains(sentence, ".txt, .md"));
    }
    scene.policy = file_policy(1 << 20, {"txt", ""});
    CHECK(scene.write_refusal("noextension") == "");
    CHECK(contains(scene.write_refusal("a.md"), "no extension"));
}

TEST_CASE("file reading goes by a byte order mark, also line by line")
{
    file_scene scene;
    scene.write("little.txt", "one\nzwei \u0a05\u0100 \xf0\x9f\x98\x80\nthree\n", "utf-16");
    scene.put("big.txt", std::string("\xfe\xff\0a\0\n\0b\0\n", 10));
    CHECK(scene.read("little.txt").content == "one\nzwei \u0a05\u0100 \xf0\x9f\x98\x80\nthree\n");
    CHECK(scene.read("big.txt").content == "a\nb\n");
    file_read_request second;
    second.path = "little.txt";
    second.line = 2;
    second.lines = 1;
    CHECK(read_file(scene.root(), scene.policy, second).content == "zwei \u0a05\u0100 \xf0\x9f\x98\x80\n");
    second.path = "big.txt";
    CHECK(read_file(scene.root(), scene.policy, second).content == "b\n");
    CHECK(scene.read("big.txt", "latin-1").content.size() > 4);
    const std::string wide = "one\nzwei \u0a0a \xf0\x9f\x98\x80\nthree\n";
    for (const auto& [name, order] : {std::pair{"w1.txt", "utf-32le"}, {"w2.txt", "utf-32be"}}) {
        CAPTURE(order);
        scene.write(name, "\ufeff" + wide, order);
        CHECK(scene.read(name).content == wide);
        CHECK(scene.read(name, "utf-32").content == wide);
        second.path = name;
        CHECK(read_file(scene.root(), scene.policy, second).content == "zwei \u0a0a \xf0\x9f\x98\x80\n");
    }
}

TEST_CASE("file reading says what else shows a file that is no text")
{
    file_scene scene;
    scene.put("image.txt", std::string("\x89PNG\r\n\x1a\n", 8));
    const auto sentence = scene.read_refusal("image.txt");
    CHECK(contains(sentence, "view_file"));
    CHECK(contains(sentence, "base64"));
    CHECK(contains(sentence, "latin-1"));
    scene.put("plot.PNG", std::string("\x89PNG\r\n\x1a\n", 8));
    CHECK(scene.read_refusal("plot.PNG") == "path \"plot.PNG\" is no text; view_file shows it.");
}

TEST_CASE("a tilde in front of a path is the home of the programs, which is the root")
{
    file_scene scene;
    CHECK(scene.read("~/hello.txt").content == "hello\n");
    CHECK(scene.read("~//sub/inner.txt").content == "inner\n");
    scene.put("~x", "name\n");
    CHECK(scene.read("~x").content == "name\n");
    fs::create_directory(scene.workspace / "~");
    scene.put("~/hello.txt", "folder\n");
    CHECK(scene.read("./~/hello.txt").content == "folder\n");
    CHECK(file_path("path", "~").relative() == ".");
    CHECK(contains(scene.read_refusal("~anna/hello.txt"), "\"./~anna/hello.txt\""));
    for (const char* name : {"~$plan.docx", "~x", "./~x/y", "~A b/y"}) {
        CAPTURE(name);
        CHECK_NOTHROW(file_path("path", name));
    }
}

TEST_CASE("a path is no address and no path of Windows, but a file's own URI")
{
    file_scene scene;
    CHECK(scene.read("file:///hello.txt").content == "hello\n");
    const std::vector<std::pair<std::string, std::string>> refused{
        {"C:\\Users\\anna\\a.txt", "Windows"},
        {"d:/a.txt", "Windows"},
        {"sandbox://default/sub/inner.txt", "\"sub/inner.txt\""},
        {"https://example.test/a.txt", "is an address"},
        {"file:///sub%2Finner.txt", "is an address"},
        {"file://host/a.txt", "is an address"}};
    for (const auto& [path, advice] : refused) {
        CAPTURE(path);
        CHECK(contains(scene.read_refusal(path), advice));
    }
    CHECK(contains(scene.read_refusal("./C:/a.txt"), "does not exist"));
    CHECK(contains(scene.read_refusal("sub/x://b.txt"), "does not exist"));
}
