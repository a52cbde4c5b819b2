#include "jsonrpc/rpc_error.hpp"
#include "sandboxes/sandbox_resources.hpp"
#include "test/program/tools/sandbox_support.hpp"

#include <sys/stat.h>

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string text_in(const fs::path& file)
{
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void put_text(const fs::path& file, const std::string& text)
{
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

caller caller_named(std::string principal, std::string session = {})
{
    caller who;
    who.principal = std::move(principal);
    who.session = std::move(session);
    who.session_ends = !who.session.empty();
    return who;
}

/// Calls without a sandbox_id.
struct default_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;

    std::string said_by(const caller& who, std::string name, json::object arguments)
    {
        last = run_coroutine(io, start(std::move(name), std::move(arguments), who), std::chrono::seconds(60));
        const auto* out = last.structured.if_contains("stdout");
        if (out == nullptr) out = last.structured.if_contains("output");
        if (out == nullptr) out = last.structured.if_contains("content");
        return out == nullptr ? json::serialize(last.structured) : std::string(out->as_string());
    }
    std::string said(std::string name, json::object arguments) { return said_by({}, std::move(name), arguments); }
    sandbox_record record(const caller& who = {}) { return run_coroutine(io, all->sandboxes->use(who, {})); }
};

}  // namespace

TEST_CASE("a file that may have been meant for another sandbox is said to be in the default one")
{
    default_stage s;
    const json::object file{{"path", "a.txt"}, {"content", "1"}};
    s.tool("file_write", file);
    CHECK_FALSE(s.last.structured.contains("note"));
    s.tool("create_sandbox", {{"name", "second"}});
    s.tool("file_write", file);
    CHECK(text(s.last.structured, "note").find("default sandbox") != std::string::npos);
    auto named = file;
    named["sandbox_id"] = "second";
    s.tool("file_write", named);
    CHECK_FALSE(s.last.structured.contains("note"));
}

TEST_CASE("all tools that name no sandbox work in one place, where a relative path means the same file")
{
    default_stage s;
    s.tool("file_write", {{"path", "a/note.txt"}, {"content", "by file_write\n"}});
    const std::string show = "cat a/note.txt", read = "print(open('a/note.txt').read(), end='')";
    CHECK(s.said("system_run_command", {{"command", show}}) == "by file_write\n");
    CHECK(s.said("system_run_python", {{"code", read}}) == "by file_write\n");
    CHECK(s.said("execute_terminal_command", {{"command", show}}) == "by file_write\n");
    CHECK(s.said("execute_python_code", {{"code", read}}) == "by file_write\n");
    CHECK(s.said("execute_python_code", {{"code", read}, {"stateful", true}}) == "by file_write\n");
    CHECK(s.said("download_file_from_sandbox", {{"file_path", "a/note.txt"}}) == "by file_write\n");
    CHECK(s.said("file_read", {{"path", "/a/note.txt"}}) == "by file_write\n");
    CHECK(s.said("file_read", {{"path", "/app/results/a/note.txt"}}) == "by file_write\n");
    CHECK(s.said("file_read", {{"path", "file:///app/results/a/note.txt"}}) == "by file_write\n");
    CHECK(s.said("file_read", {{"path", "a/note.txt"}, {"sandbox_id", "default"}}) == "by file_write\n");
    CHECK(text_in(s.workspace() / "a/note.txt") == "by file_write\n");
    const auto rows = s.tool("list_sandboxes").at("sandboxes").as_array();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].at("name") == "default");
    CHECK(text(rows[0].as_object(), "sandbox_id") == s.record().id);
}

TEST_CASE("a folder with files of an earlier version is the default sandbox from its first call on")
{
    temporary_folder root;
    put_text(root.path / "workspace/old.txt", "of everybody");
    put_text(root.path / "workspace/old.py", "value = 42\n");
    put_text(root.path / "callers/ann/workspace/old.txt", "of ann");
    settings config = all_programs();
    config.sandbox_root = root.path;
    asio::io_context io;
    sandbox::native_backend backend(io.get_executor(), launcher_under_test(config, false));
    auto all = make_managers(config, backend, io.get_executor());
    tool_registry registry;
    register_tools(registry, *all, config, [](const std::string&) { return json::object(); });
    recording_io progress{io.get_executor()};
    const auto call = [&](const caller& who, const char* name, json::object arguments) {
        tool_context context{who, progress, "test", {}, {}};
        auto work = registry.find(name)->call(context, std::move(arguments));
        return run_coroutine(io, std::move(work), std::chrono::seconds(60)).structured;
    };
    CHECK(text(call({}, "file_read", {{"path", "old.txt"}}), "content") == "of everybody");
    CHECK(call({}, "system_run_python", {{"code", "import old\n_ = old.value"}}).at("result") == 42);
    CHECK(text(call(caller_named("ann"), "execute_terminal_command", {{"command", "cat old.txt"}}), "stdout") ==
          "of ann");
    CHECK(text_in(root.path / "callers/ann/workspace/old.txt") == "of ann");
    run_coroutine(io, all->stop(), std::chrono::seconds(20));
}

TEST_CASE("callers do not meet in their default sandboxes, and their folders are for their owner alone")
{
    default_stage s;
    s.as("ann", "file_write", {{"path", "a.txt"}, {"content", "ann's"}});
    CHECK(s.as("bob", "file_read", {{"path", "a.txt"}}).at("success") == false);
    CHECK(s.as("bob", "file_read", {{"path", "a.txt"}, {"sandbox_id", s.record(caller_named("ann")).id}})
              .at("error_type") == "NotFound");
    CHECK(s.said_by(caller_named("bob"), "system_run_command", {{"command", "ls"}}).empty());
    CHECK(s.said_by(caller_named("ann"), "system_run_command", {{"command", "cat a.txt"}}) == "ann's");
    struct stat status {};
    REQUIRE(::stat((s.folder.path / "callers/ann/workspace").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("with WORKSPACE_PER_SESSION each session has a default sandbox, which goes with it")
{
    settings config = all_programs();
    config.workspace_per_session = true;
    default_stage s(config);
    const auto first = caller_named("ann", "one"), second = caller_named("ann", "two");
    s.said_by(first, "file_write", {{"path", "a.txt"}, {"content", "of one"}});
    CHECK(s.said_by(first, "execute_terminal_command", {{"command", "cat a.txt"}}) == "of one");
    CHECK(s.said_by(second, "system_run_command", {{"command", "ls"}}).empty());
    const auto where = s.record(first);
    const auto folder = s.all->sandboxes->places().files(where).parent_path();
    CHECK(fs::exists(folder));
    s.all->sandboxes->end_session(first);
    s.io.restart();
    while (fs::exists(folder) && s.io.run_one() != 0) {
    }
    CHECK_FALSE(fs::exists(folder));
    CHECK(s.record(first).id != where.id);
}

TEST_CASE("delete_sandbox empties the default sandbox, and the next call has a new one")
{
    default_stage s;
    s.tool("file_write", {{"path", "a.txt"}, {"content", "x"}});
    const auto before = s.record();
    CHECK_FALSE(s.registry.validate("delete_sandbox", {}).empty());
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", "default"}}).at("success") == true);
    CHECK(s.tool("list_sandboxes").at("sandboxes").as_array().empty());
    CHECK_FALSE(fs::exists(s.workspace() / "a.txt"));
    CHECK(s.said("system_run_command", {{"command", "ls"}}).empty());
    CHECK(s.record().id != before.id);
}

TEST_CASE("who has a sandbox named default keeps it under that name")
{
    default_stage s;
    const auto own = s.create("default");
    s.tool("file_write", {{"path", "a.txt"}, {"content", "in the default one"}});
    CHECK(s.record().id != own);
    CHECK(s.said("system_run_command", {{"command", "ls"}, {"sandbox_id", "default"}}).empty());
    CHECK(s.said("system_run_command", {{"command", "ls"}}) == "a.txt\n");
}

TEST_CASE("the tools of the first system run in any sandbox that they name")
{
    default_stage s;
    const auto id = s.create();
    s.tool("system_run_command", {{"command", "echo there > a.txt"}, {"sandbox_id", id}});
    CHECK(text_in(s.files_of(id) / "a.txt") == "there\n");
    CHECK(s.said("system_run_python", {{"code", "print(open('a.txt').read(), end='')"}, {"sandbox_id", id}}) ==
          "there\n");
    CHECK(s.said("system_run_command", {{"command", "ls"}}).empty());
}

TEST_CASE("packages of the default sandbox are there for system_run_python")
{
    default_stage s;
    const auto put = s.python(
        "import os, sys\nfolder = os.path.expanduser('~/.local/lib/python%d.%d/site-packages' % sys.version_info[:2])\n"
        "os.makedirs(folder)\nopen(folder + '/brought.py', 'w').write('value = 7')\n");
    CHECK(put.at("success") == true);
    CHECK(s.python("import brought\n_ = brought.value").at("result") == 7);
}

TEST_CASE("runs with a list of programs share a cell of their own, in which neither network nor other programs are")
{
    settings config;
    config.bash_allowed_commands = {"ls", "cat", "sleep", "nohup"};
    default_stage s(config);
    if (!s.backend.keeps_cells()) return;
    CHECK(s.tool("execute_terminal_command", {{"command", "id -u > who; nohup sleep 600 > /dev/null 2>&1 &"}})
              .at("exit_code") == 0);
    s.tool("system_run_command", {{"command", "echo kept > /tmp/mark; nohup sleep 601 > /dev/null 2>&1 &"}});
    CHECK(s.said("system_run_command", {{"command", "cat /tmp/mark"}}) == "kept\n");
    CHECK(s.tool("system_run_command", {{"command", "id"}}).at("exit_code") == 127);
    CHECK(s.said("execute_terminal_command", {{"command", "cat /tmp/mark 2>&1; pgrep -a sleep"}}).find("sleep 601") ==
          std::string::npos);
    const auto rows = s.tool("list_sandboxes").at("sandboxes").as_array();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].at("processes") == 2);
    CHECK(s.tool("stop_sandbox", {{"sandbox_id", "default"}, {"keep_files", true}}).at("status") == "success");
    CHECK(s.tool("list_sandboxes").at("sandboxes").at(0).as_object().if_contains("processes") == nullptr);
    CHECK(text_in(s.workspace() / "who").size() > 1);
}

TEST_CASE("FILE_ALLOWED_EXTENSIONS holds by default for the tools of the first system alone, and everywhere when set")
{
    const auto written = [](default_stage& s, const caller& who, json::object where) {
        where["path"] = "run.sh";
        where["content"] = "x";
        s.said_by(who, "file_write", std::move(where));
        return !s.last.is_error;
    };
    caller agent;
    agent.profile = "agent";
    default_stage usual;
    choose_tools(usual.registry, usual.config);
    CHECK_FALSE(written(usual, {}, {}));
    CHECK(written(usual, agent, {}));
    CHECK(written(usual, {}, {{"sandbox_id", usual.create("other")}}));
    settings config = all_programs();
    config.file_allowed_extensions = {"txt"};
    default_stage set(config);
    choose_tools(set.registry, set.config);
    CHECK_FALSE(written(set, agent, {}));
    CHECK_FALSE(written(set, {}, {{"sandbox_id", set.create("other")}}));
}

TEST_CASE("the default sandbox stays within SANDBOX_WORKSPACE_MAX_MB, whoever writes")
{
    settings config = all_programs();
    config.workspace_max_size = 4 << 20;
    config.file_max_size = 8 << 20;
    default_stage s(config);
    const auto write = [&](const char* name, std::size_t bytes) {
        s.call("file_write", {{"path", name}, {"content", std::string(bytes, 'x')}});
        return s.call("file_read", {{"path", name}, {"limit", 1}}).structured.at("success") == true;
    };
    CHECK(write("one.txt", 3 << 20));
    s.io.restart();
    const auto refused = s.call("file_write", {{"path", "two.txt"}, {"content", std::string(2 << 20, 'x')}});
    CHECK(refused.is_error);
    CHECK(text(refused.structured, "error").find("SANDBOX_WORKSPACE_MAX_MB") != std::string::npos);
    CHECK_FALSE(fs::exists(s.workspace() / "two.txt"));
    CHECK(s.tool("file_delete", {{"path", "one.txt"}}).at("success") == true);
}

TEST_CASE("code in a sandbox that names none means its own for every tool, and reaches the default one when it may")
{
    default_stage s;
    const auto own = s.create("own");
    s.tool("file_write", {{"path", "a.txt"}, {"content", "default"}});
    s.tool("file_write", {{"path", "a.txt"}, {"content", "own"}, {"sandbox_id", own}});
    calling_code from;
    from.sandbox = own;
    caller code;
    code.code = std::make_shared<calling_code>(from);
    CHECK(s.said_by(code, "file_read", {{"path", "a.txt"}}) == "own");
    CHECK(s.said_by(code, "system_run_command", {{"command", "cat a.txt"}}) == "own");
    CHECK(s.said_by(code, "execute_terminal_command", {{"command", "cat a.txt"}}) == "own");
    s.said_by(code, "file_read", {{"path", "a.txt"}, {"sandbox_id", "default"}});
    CHECK(s.last.structured.at("error_type") == "Forbidden");
    from.default_sandbox = true;
    code.code = std::make_shared<calling_code>(from);
    CHECK(s.said_by(code, "file_read", {{"path", "a.txt"}, {"sandbox_id", "default"}}) == "default");
    CHECK(s.said_by(code, "file_read", {{"path", "a.txt"}}) == "own");
}

namespace {

struct resource_stage : default_stage {
    std::optional<json::array> read(std::string uri, const caller& who = {})
    {
        return run_coroutine(io, resources.read(who, std::move(uri)));
    }
    sandbox_resources resources{*all->sandboxes, *all->sandbox_files_, *all->watch, *all->pool};
};

}  // namespace

TEST_CASE(
    "files of sandboxes are resources by handle and by name, those of the default one also as earlier versions named "
    "them")
{
    resource_stage s;
    put_text(s.workspace() / "naïve ✓.txt", "unicode");
    put_text(s.workspace() / "data.bin", "\xff\xfd\xfe\x61\x62\x63");
    const auto id = s.record().id;
    const auto listed = run_coroutine(s.io, s.resources.list({}));
    REQUIRE(listed.size() == 2);
    CHECK(text(listed[1].as_object(), "uri") == "sandbox://" + id + "/na%C3%AFve%20%E2%9C%93.txt");
    for (const std::string& root :
         {"sandbox://" + id + "/", std::string("sandbox://default/"), std::string("workspace:///")}) {
        INFO(root);
        const auto content = s.read(root + "na%C3%AFve%20%E2%9C%93.txt");
        REQUIRE(content);
        CHECK(content->at(0).at("text") == "unicode");
        CHECK(s.read(root + "data.bin")->at(0).at("blob") == "//3+YWJj");
        CHECK(s.read(root + "na%C3%AFve%20%E2%9C%93.txt?offset=2&limit=3")->at(0).at("text") == "ico");
        CHECK_FALSE(s.read(root + "missing.txt"));
        CHECK_FALSE(s.read(root));
        CHECK_FALSE(s.read(root + "a%2"));
        CHECK_THROWS_AS(s.read(root + "%2e%2e/sandboxes/sandboxes.sqlite"), rpc_error);
        CHECK_THROWS_AS(s.read(root + "data.bin?from=1"), rpc_error);
    }
    CHECK_FALSE(s.read("file:///etc/passwd"));
    CHECK_FALSE(s.read("sandbox:///data.bin"));
    CHECK_FALSE(s.read("sandbox://" + id + "/data.bin", caller_named("ann")));
}

TEST_CASE("who observes a file of the default sandbox is told of every change, whoever makes it")
{
    resource_stage s;
    s.tool("file_write", {{"path", "other.txt"}, {"content", "x"}});
    int calls = 0, others = 0;
    auto observer = s.resources.observe({}, "sandbox://default/a.txt", [&] { ++calls; });
    const auto other = s.resources.observe({}, "workspace:///other.txt", [&] { ++others; });
    REQUIRE(observer);
    REQUIRE(other);
    const auto changed = [&](auto change) {
        const int before = calls;
        change();
        s.io.restart();
        while (calls == before && s.io.run_one() > 0) {
        }
        return calls > before;
    };
    CHECK(changed([&] { std::ofstream(s.workspace() / "a.txt") << "x"; }));
    CHECK(changed([&] { s.tool("file_write", {{"path", "a.txt"}, {"content", "y"}}); }));
    CHECK(changed([&] { s.tool("file_move", {{"source", "a.txt"}, {"destination", "b.txt"}}); }));
    CHECK(others == 0);
    CHECK_FALSE(s.resources.observe({}, "sandbox://default/missing/a.txt", [] {}));
    CHECK_FALSE(s.resources.observe(caller_named("ann"), "sandbox://" + s.record().id + "/a.txt", [] {}));
    CHECK_THROWS_AS(s.resources.observe({}, "sandbox://default/../a.txt", [] {}), rpc_error);
}
