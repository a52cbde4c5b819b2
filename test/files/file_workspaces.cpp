#include "test/files/file_support.hpp"

#include "files/file_watch.hpp"
#include "files/incoming_file.hpp"
#include "files/trees.hpp"
#include "files/workspace_resources.hpp"
#include "files/workspaces.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

caller named(std::string principal, std::string session = {})
{
    caller who;
    who.principal = std::move(principal);
    who.session = std::move(session);
    return who;
}

void write(const std::filesystem::path& file)
{
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "text";
}

struct resource_stage {
    file_scene scene;
    asio::io_context io;
    blocking_pool pool;
    workspaces places{scene.base, false};
    file_manager files{pool, places, file_policy(1 << 20, {"txt", "bin"}), [](std::string_view) { return 0; }};
    file_watch watch{io.get_executor()};
    workspace_resources resources{files, watch};

    std::optional<json::array> read(std::string uri) { return run_coroutine(io, resources.read(who, std::move(uri))); }
    caller who;
};

}  // namespace

TEST_CASE("workspaces give each caller a folder of its own with mode 0700")
{
    file_scene scene;
    const fs::path root = scene.base / "data";
    const workspaces places(root, false);
    CHECK(places.folder({}) == root / "workspace");
    CHECK(places.folder(named("ann")) == root / "callers/ann/workspace");
    CHECK(places.folder(named("ann", "session")) == root / "callers/ann/workspace");
    CHECK(places.folder(named("../../etc")) == root / "callers/%2e%2e%2f%2e%2e%2fetc/workspace");
    struct stat status {};
    REQUIRE(::stat((root / "callers/ann/workspace").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("workspaces never give two principals the same folder")
{
    CHECK(workspaces::safe_name("a/b") != workspaces::safe_name("a%2fb"));
    CHECK(workspaces::safe_name("..") == "%2e%2e");
    CHECK(workspaces::safe_name(std::string(500, 'x')) != workspaces::safe_name(std::string(501, 'x')));
    CHECK(workspaces::safe_name(std::string(500, 'x')).size() < 120);
    CHECK_FALSE(workspaces::safe_name("").empty());
    CHECK(workspaces::safe_name("Ümläut\n").find_first_of("/\n") == std::string::npos);
}

TEST_CASE("workspaces of sessions do not show the session's id and are forgotten with all they hold")
{
    file_scene scene;
    const workspaces places(scene.base / "data", true);
    const auto folder = places.folder(named("", "secret-session-id"));
    CHECK_FALSE(contains(folder.string(), "secret"));
    CHECK(folder != places.folder(named("", "another")));
    CHECK(folder != places.folder(named("ann", "secret-session-id")));
    CHECK(places.folder(named("")) == scene.base / "data/workspace");

    fs::create_directories(folder / "a/b/c");
    fs::create_symlink(scene.base / "outside", folder / "a/link");
    file_scene::put_at(folder / "a/b/c/file", "x");
    places.forget(named("", "secret-session-id"));
    CHECK_FALSE(fs::exists(folder.parent_path()));
    places.forget(named(""));
    CHECK(fs::exists(scene.base / "data/workspace"));
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("workspace resources list what file_read would give, with URIs that are read back")
{
    resource_stage stage;
    stage.scene.put("naïve ✓.txt", "unicode");
    stage.scene.put("data.bin",
                    "\xff\xfd\xfe"
                    "abc");
    stage.scene.put("run.sh", "not allowed");
    const auto listed = run_coroutine(stage.io, stage.resources.list(stage.who));
    REQUIRE(listed.size() == 4);
    CHECK(listed[0].at("uri") == "workspace:///data.bin");
    CHECK(listed[1].at("uri") == "workspace:///hello.txt");
    CHECK(listed[1].at("mimeType") == "text/plain");
    CHECK(listed[2].at("uri") == "workspace:///na%C3%AFve%20%E2%9C%93.txt");
    CHECK(listed[3].at("name") == "sub/inner.txt");

    const auto text = stage.read("workspace:///na%C3%AFve%20%E2%9C%93.txt");
    REQUIRE(text);
    CHECK(text->at(0).at("text") == "unicode");
    const auto blob = stage.read("workspace:///data.bin");
    REQUIRE(blob);
    CHECK(blob->at(0).at("blob") == "//3+YWJj");
    CHECK(blob->at(0).at("uri") == "workspace:///data.bin");
    CHECK(stage.resources.templates().at(0).at("uriTemplate") == "workspace:///{+path}{?offset,limit,line,lines}");
    CHECK(stage.resources.templates().at(1).at("uriTemplate") == "workspace:///{+path}");
}

TEST_CASE("workspace resources know nothing of other URIs and refuse to leave the workspace")
{
    resource_stage stage;
    CHECK_FALSE(stage.read("workspace:///missing.txt"));
    CHECK_FALSE(stage.read("file:///etc/passwd"));
    CHECK_FALSE(stage.read("workspace:///"));
    CHECK_FALSE(stage.read("workspace:///a%2"));
    CHECK_FALSE(stage.read("workspace:///a%zz"));
    for (const char* uri : {"workspace:///../outside/secret.txt", "workspace:///%2e%2e/outside/secret.txt",
                            "workspace:///hello.txt%00", "workspace:///run.sh", "workspace:///%ff.txt"}) {
        INFO(uri);
        CHECK_THROWS_AS(stage.read(uri), rpc_error);
    }
}

TEST_CASE("who observes a file is told of every change, whoever makes it, and of no other file")
{
    resource_stage stage;
    const auto folder = stage.places.folder(stage.who);
    int calls = 0, others = 0;
    auto observer = stage.resources.observe(stage.who, "workspace:///a.txt", [&] { ++calls; });
    const auto other = stage.resources.observe(stage.who, "workspace:///other.txt", [&] { ++others; });
    REQUIRE(observer);
    const auto changed = [&](auto change) {
        const int before = calls;
        change();
        stage.io.restart();
        while (calls == before && stage.io.run_one() > 0) {
        }
        return calls > before;
    };
    CHECK(changed([&] { std::ofstream(folder / "a.txt") << "x"; }));
    CHECK(changed([&] {
        run_coroutine(stage.io, stage.files.write(stage.who, file_write_request{"a.txt", "y", "utf-8"}));
    }));
    CHECK(changed([&] {
        run_coroutine(stage.io, stage.files.move(stage.who, file_move_request{"a.txt", "b.txt", false}));
    }));
    CHECK(changed([&] { fs::rename(folder / "b.txt", folder / "a.txt"); }));
    CHECK(changed([&] { fs::remove(folder / "a.txt"); }));
    CHECK(others == 0);

    const int before = calls;
    observer.reset();
    auto again = stage.resources.observe(stage.who, "workspace:///other.txt", [&] { ++calls; });
    CHECK(changed([&] { std::ofstream(folder / "a.txt") << "x", std::ofstream(folder / "other.txt") << "x"; }));
    CHECK(calls == before + 1);
}

TEST_CASE("nobody observes another caller's files, missing folders or paths that lead out")
{
    resource_stage stage;
    int calls = 0;
    const auto mine = stage.resources.observe(named("ann"), "workspace:///a.txt", [&] { ++calls; });
    const auto his = stage.resources.observe(named("bob"), "workspace:///a.txt", [&] { calls += 100; });
    REQUIRE(mine);
    REQUIRE(his);
    run_coroutine(stage.io, stage.files.write(named("ann"), file_write_request{"a.txt", "x", "utf-8"}));
    stage.io.restart();
    while (calls == 0 && stage.io.run_one() > 0) {
    }
    CHECK(calls < 100);
    CHECK_FALSE(stage.resources.observe(stage.who, "workspace:///missing/a.txt", [] {}));
    CHECK_FALSE(stage.resources.observe(stage.who, "file:///etc/passwd", [] {}));
    CHECK_THROWS_AS(stage.resources.observe(stage.who, "workspace:///../a.txt", [] {}), rpc_error);
    CHECK_THROWS_AS(stage.resources.observe(stage.who, "workspace:///..", [] {}), rpc_error);
}

TEST_CASE("a principal's observers leave room for those of others, and a handle that ends gives its place back")
{
    asio::io_context io;
    const file_scene scene;
    const file_root root(scene.place);
    file_watch watch(io.get_executor(), 8);
    const auto observe = [&](const char* principal) { return watch.observe(principal, root.descriptor(), "a", [] {}); };
    std::vector<std::shared_ptr<void>> anns;
    for (int i = 0; i < 4; ++i) anns.push_back(observe("ann"));
    CHECK_THROWS_AS(observe("ann"), std::system_error);
    const auto first = observe("bob");
    const auto second = observe("bob");
    CHECK_THROWS_AS(observe("bob"), std::system_error);
    CHECK(observe("eve"));
    anns.resize(2);
    CHECK(observe("ann"));
}

TEST_CASE("an observer may end itself or the watch while it is told")
{
    resource_stage stage;
    auto watch = std::make_unique<file_watch>(stage.io.get_executor());
    const file_root root(stage.places.folder(stage.who));
    bool called = false;
    std::shared_ptr<void> first = watch->observe("ann", root.descriptor(), "a.txt", [&] {
        called = true;
        first.reset();
        watch.reset();
    });
    const auto second = watch->observe("ann", root.descriptor(), "a.txt", [] {});
    std::ofstream(stage.places.folder(stage.who) / "a.txt") << "x";
    while (stage.io.run_one() > 0) {
    }
    CHECK(called);
}

TEST_CASE("file calls of different callers see different files")
{
    resource_stage stage;
    run_coroutine(stage.io, stage.files.write(named("ann"), file_write_request{"a.txt", "ann's", "utf-8"}));
    CHECK_THROWS_AS(run_coroutine(stage.io, stage.files.read(named("bob"), file_read_request{"a.txt"})), file_missing);
    CHECK_THROWS_AS(run_coroutine(stage.io, stage.files.read({}, file_read_request{"a.txt"})), file_missing);
    const auto mine = run_coroutine(stage.io, stage.files.read(named("ann"), file_read_request{"a.txt"}));
    CHECK(mine.content == "ann's");
}

namespace {

struct quota_stage : resource_stage {
    static constexpr std::uint64_t limit = 4 << 20;

    // The sentence that refused the write; empty: it was done.
    std::string write(std::string path, std::size_t bytes)
    {
        try {
            run_coroutine(io, limited.write(who, {std::move(path), std::string(bytes, 'x')}));
            return {};
        } catch (const file_error& refused) {
            return refused.what();
        }
    }

    file_manager limited{pool, places, file_policy(4 << 20, {"*"}), [this](std::string_view) { return limit; }};
};

}  // namespace

TEST_CASE("what the file tools write stays within SANDBOX_WORKSPACE_MAX_MB")
{
    quota_stage stage;
    CHECK(stage.write("one", 3 << 20).empty());
    const auto refused = stage.write("two", 2 << 20);
    CHECK(refused.find("SANDBOX_WORKSPACE_MAX_MB") != std::string::npos);
    CHECK_FALSE(fs::exists(stage.scene.place / "two"));
    for (int i = 0; i < 5; ++i) CHECK(stage.write("again", 256 << 10).empty());  // takes the place of the old one
    run_coroutine(stage.io, stage.limited.remove(stage.who, "one"));
    CHECK(stage.write("two", 2 << 20).empty());
}

TEST_CASE("writes that go on side by side stay within SANDBOX_WORKSPACE_MAX_MB together")
{
    quota_stage stage;
    int done = 0, ended = 0;
    for (int i = 0; i < 10; ++i)
        asio::co_spawn(stage.io, stage.limited.write(stage.who, {"f" + std::to_string(i), std::string(1 << 20, 'x')}),
                       [&](std::exception_ptr failure) {
                           ++ended;
                           done += failure ? 0 : 1;
                       });
    while (ended < 10) REQUIRE(stage.io.run_one() == 1);
    CHECK(done == 3);  // the workspace had some files already
    CHECK(whole(disk_usage(stage.scene.place)) <= quota_stage::limit);
}

TEST_CASE("what runs have written since the last measurement counts for the file tools, too")
{
    quota_stage stage;
    CHECK(stage.write("one", 1 << 20).empty());
    stage.scene.put("by_run", std::string(2 << 20, 'x'));
    CHECK(stage.write("two", 1 << 20).find("SANDBOX_WORKSPACE_MAX_MB") != std::string::npos);
    fs::remove(stage.scene.place / "by_run");
    CHECK(stage.write("two", 1 << 20).empty());
}

TEST_CASE("a file is not published when runs fill the workspace while it is written")
{
    quota_stage stage;
    workspace_quota quota(stage.pool, [](std::string_view) { return quota_stage::limit; });
    const auto turn = run_coroutine(stage.io, quota.begin("ann", stage.scene.place));
    run_coroutine(stage.io, quota.check(turn, 2 << 20));
    const auto file = prepare_file(stage.scene.root(), file_policy(4 << 20, {"*"}), {"two", std::string(2 << 20, 'x')});
    stage.scene.put("by_run", std::string(3 << 20, 'x'));
    CHECK_THROWS_AS(run_coroutine(stage.io, quota.check(turn, file->unseen())), file_error);
    CHECK_FALSE(fs::exists(stage.scene.place / "two"));
    fs::remove(stage.scene.place / "by_run");
    run_coroutine(stage.io, quota.check(turn, file->unseen()));
}

TEST_CASE("principals with a workspace are found by its folder; kept outputs alone are no use of it")
{
    temporary_folder root;
    const workspaces places(root.path, false);
    CHECK(places.principals().empty());
    CHECK_FALSE(places.is_used("ann"));
    write(places.folder(named("ann")) / ".outputs" / "a.txt");
    write(places.folder(named("https://issuer.example|bob+c")) / "a.txt");
    write(places.folder(named(std::string(300, 'x'))) / "a.txt");
    CHECK_FALSE(places.is_used("ann"));
    CHECK(places.is_used("https://issuer.example|bob+c"));
    auto found_names = places.principals();
    std::ranges::sort(found_names);
    CHECK(found_names == std::vector<std::string>{"ann", "https://issuer.example|bob+c"});
    CHECK(places.count() == 3);
    write(places.folder(caller()) / "b.txt");
    CHECK(places.principals().size() == 3);
    CHECK(places.is_used(""));
}
