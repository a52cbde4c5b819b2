#include "managers/job_manager.hpp"
#include "managers/sandbox_manager.hpp"
#include "mcp/base64.hpp"
#include "test/tools/system_support.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

struct sandbox_stage : system_stage {
    using system_stage::system_stage;

    ~sandbox_stage() { run_coroutine(io, all->stop(), std::chrono::seconds(20)); }

    json::object as(const std::string& principal, std::string name, json::object arguments)
    {
        caller who;
        who.principal = principal;
        last = run_coroutine(io, start(std::move(name), std::move(arguments), std::move(who)), std::chrono::seconds(60));
        return last.structured;
    }
    json::object tool(std::string name, json::object arguments = {})
    {
        last = call(std::move(name), std::move(arguments));
        return last.structured;
    }
    std::string create(std::string name = {})
    {
        json::object arguments;
        if (!name.empty()) arguments["name"] = name;
        return text(tool("create_sandbox", std::move(arguments)), "sandbox_id");
    }
    json::object python_in(const std::string& id, std::string code) { return tool("execute_python_code", {{"sandbox_id", id}, {"code", code}}); }
    json::object shell_in(const std::string& id, std::string command) { return tool("execute_terminal_command", {{"sandbox_id", id}, {"command", command}}); }
    fs::path files_of(const std::string& id) const { return folder.path / "sandboxes" / id / "workspace"; }
};

std::vector<std::string> strings(const json::object& from, std::string_view name)
{
    std::vector<std::string> all;
    for (const auto& each : from.at(name).as_array()) all.emplace_back(each.as_string());
    return all;
}

}  // namespace

TEST_CASE("a sandbox is created, listed, used and deleted")
{
    sandbox_stage s;
    const auto made = s.tool("create_sandbox", {{"name", "work"}});
    const auto id = text(made, "sandbox_id");
    CHECK(handle_maker::fits("sbx", id));
    CHECK(text(made, "name") == "work");
    CHECK(text(made, "status") == "running");
    const auto listed = s.tool("list_sandboxes").at("sandboxes").as_array();
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].as_object().at("sandbox_id") == json::value(id));
    for (const char* key : {"name", "status", "image", "created", "last_used"}) CHECK(listed[0].as_object().contains(key));
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", id}}).at("success") == true);
    CHECK(s.tool("list_sandboxes").at("sandboxes").as_array().empty());
    CHECK_FALSE(fs::exists(s.files_of(id)));
    CHECK(text(s.python_in(id, "1"), "error_type") == "NotFound");
}

TEST_CASE("python in a sandbox gives stdout, stderr, exit code, and the files it made or changed")
{
    sandbox_stage s;
    const auto id = s.create();
    auto result = s.python_in(id, "import sys, os\nprint('out', os.getcwd())\nprint('err', file=sys.stderr)\nopen('a.txt', 'w').write('1')\n"
                                  "os.mkdir('d')\nopen('d/b.txt', 'w').write('2')");
    CHECK(text(result, "stdout") == "out /app/results\n");
    CHECK(text(result, "stderr") == "err\n");
    CHECK(result.at("exit_code") == 0);
    CHECK(strings(result, "files") == std::vector<std::string>{"a.txt", "d/b.txt"});
    CHECK(strings(result, "file_links") == std::vector<std::string>{"sandbox://" + id + "/a.txt", "sandbox://" + id + "/d/b.txt"});
    result = s.python_in(id, "print(open('a.txt').read())");
    CHECK(text(result, "stdout") == "1\n");
    CHECK(strings(result, "files").empty());
    result = s.python_in(id, "open('a.txt', 'w').write('3')");
    CHECK(strings(result, "files") == std::vector<std::string>{"a.txt"});
}

TEST_CASE("a sandbox has a real shell with every program of the machine and no network")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto result = s.shell_in(id, "printf 'b\\na\\n' | sort > x && cat x && id -u; cat /proc/net/dev | grep -c eth");
    CHECK(text(result, "stdout") == "a\nb\n1000\n0\n");
    CHECK(strings(result, "files") == std::vector<std::string>{"x"});
    CHECK(s.shell_in(id, "exit 3").at("exit_code") == 3);
    CHECK_FALSE(s.last.is_error);
}

TEST_CASE("an image that a run made comes back as image content")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "printf '\\211PNG....' > p.png; echo no > t.txt");
    const auto& content = s.last.content;
    REQUIRE(content.size() == 4);
    CHECK(content[0].as_object().at("type") == "text");
    CHECK(content[1].as_object().at("type") == "image");
    CHECK(content[1].as_object().at("mimeType") == "image/png");
    CHECK(base64_decode(text(content[1].as_object(), "data")) == "\x89PNG....");
    CHECK(content[2].as_object().at("type") == "resource_link");
}

TEST_CASE("a name is taken once for an owner, and refused where it cannot be one")
{
    sandbox_stage s;
    s.create("work");
    CHECK(text(s.tool("create_sandbox", {{"name", "work"}}), "error_type") == "NameTaken");
    CHECK(s.last.is_error);
    CHECK_FALSE(s.as("bob", "create_sandbox", {{"name", "work"}}).contains("error"));
    for (const char* bad : {"../x", "a/b", ".", "sbx_a", " "}) CHECK(text(s.tool("create_sandbox", {{"name", bad}}), "error_type") == "InvalidArgument");
    CHECK(fs::exists(s.folder.path / "sandboxes"));
    std::size_t folders = 0;
    for (const auto& each : fs::directory_iterator(s.folder.path / "sandboxes"))
        folders += each.path().filename().string().starts_with("sbx_") ? 1 : 0;
    CHECK(folders == 2);
}

TEST_CASE("an image that is not on the list is refused by name of the setting")
{
    sandbox_stage s;
    CHECK(text(s.tool("create_sandbox", {{"image", "evil:latest"}}), "error").find("SANDBOX_IMAGES") != std::string::npos);
    CHECK(text(s.tool("create_sandbox", {{"image", "alpine:latest"}}), "image") == "alpine:latest");
}

TEST_CASE("a sandbox of somebody else is as one that never was, for every tool")
{
    sandbox_stage s;
    const auto own = text(s.as("ann", "create_sandbox", {{"name", "mine"}}), "sandbox_id");
    const std::string never = "sbx_node_0123456789abcdef0123456789abcdef";
    const std::vector<std::pair<std::string, json::object>> calls{{"execute_python_code", {{"code", "1"}}},
                                                                  {"execute_terminal_command", {{"command", "ls"}}},
                                                                  {"execute_code", {{"code", "1"}}},
                                                                  {"stop_sandbox", {}},
                                                                  {"delete_sandbox", {}},
                                                                  {"upload_file_to_sandbox", {{"content", ""}, {"dest_path", "x"}}},
                                                                  {"download_file_from_sandbox", {{"file_path", "x"}}},
                                                                  {"list_sandbox_files", {}},
                                                                  {"fork_sandbox", {}},
                                                                  {"snapshot_sandbox", {}},
                                                                  {"restore_sandbox", {{"snapshot", "x"}}}};
    for (const auto& [name, more] : calls) {
        INFO(name);
        auto foreign = more, unknown = more, named = more;
        foreign["sandbox_id"] = own;
        unknown["sandbox_id"] = never;
        named["sandbox_id"] = "mine";
        auto first = text(s.as("bob", name, foreign), "error");
        auto second = text(s.as("bob", name, unknown), "error");
        CHECK(first.replace(first.find(own), own.size(), "X") == second.replace(second.find(never), never.size(), "X"));
        CHECK(text(s.as("bob", name, named), "error_type") == "NotFound");
    }
    CHECK(s.as("bob", "list_sandboxes", {}).at("sandboxes").as_array().empty());
    CHECK(s.as("ann", "list_sandboxes", {}).at("sandboxes").as_array().size() == 1);
}

TEST_CASE("uploads arrive whole, in folders that are made, and nowhere else")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto upload = [&](std::string path, std::string bytes) {
        return s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"content", base64_encode(bytes)}, {"dest_path", path}});
    };
    const auto stored = upload("d/a.bin", std::string("\0\x01z", 3));
    CHECK(stored.at("success") == true);
    CHECK(text(stored, "path") == "d/a.bin");
    CHECK(stored.at("size") == 3);
    CHECK(text(s.shell_in(id, "wc -c < d/a.bin"), "stdout") == "3\n");
    CHECK(upload("/app/results/b", "x").at("success") == true);
    CHECK(fs::exists(s.files_of(id) / "b"));
    s.shell_in(id, "ln -s /etc etc; ln -s ../.. up; mkfifo pipe");
    for (const char* bad : {"../x", "/etc/passwd", "etc/x", "up/x", "d", "a\nb/../../../x"}) {
        INFO(bad);
        CHECK(upload(bad, "x").at("success") == false);
    }
    CHECK(upload("x/", "x").at("success") == false);
    CHECK(s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"content", "!"}, {"dest_path", "x"}}).at("success") == false);
    CHECK(s.tool("upload_file_to_sandbox", {{"sandbox_id", id}}).at("success") == false);
}

TEST_CASE("a local file is taken from the upload folder alone")
{
    settings chosen = all_programs();
    temporary_folder outside;
    fs::create_directories(outside.path / "up");
    std::ofstream(outside.path / "up/in.txt") << "hello";
    std::ofstream(outside.path / "secret.txt") << "no";
    fs::create_symlink(outside.path / "secret.txt", outside.path / "up/link.txt");
    chosen.sandbox_upload_folder = outside.path / "up";
    sandbox_stage s(chosen);
    const auto id = s.create();
    const auto upload = [&](std::string path) { return s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"local_file_path", path}}); };
    CHECK(upload((outside.path / "up/in.txt").string()).at("size") == 5);
    CHECK(upload("in.txt").at("success") == true);
    CHECK(text(s.shell_in(id, "cat in.txt"), "stdout") == "hello");
    for (const auto& bad : {std::string("../secret.txt"), std::string("link.txt"), (outside.path / "secret.txt").string(), std::string("/etc/passwd")})
        CHECK(upload(bad).at("success") == false);
}

TEST_CASE("a file of a sandbox is read as text, as bytes and in parts")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "printf 'aäb' > t; printf '\\377\\000' > b");
    const auto read = [&](json::object more) {
        more["sandbox_id"] = id;
        return s.tool("download_file_from_sandbox", std::move(more));
    };
    CHECK(text(read({{"file_path", "t"}}), "content") == "aäb");
    const auto part = read({{"file_path", "/app/results/t"}, {"limit", 2}});
    CHECK(text(part, "content") == "a");
    CHECK(part.at("next_offset") == 1);
    CHECK(text(read({{"file_path", "t"}, {"offset", 1}}), "content") == "äb");
    CHECK(text(read({{"file_path", "b"}}), "encoding") == "base64");
    CHECK(text(read({{"file_path", "b"}}), "content") == base64_encode(std::string("\xff\0", 2)));
    CHECK(read({{"file_path", "b"}, {"encoding", "utf-8"}}).at("success") == false);
    CHECK(text(read({{"file_path", "nothing"}}), "error_type") == "NotFound");
    CHECK(read({{"file_path", "."}}).at("success") == false);
    CHECK(read({{"file_path", "../../../etc/passwd"}}).at("success") == false);
}

TEST_CASE("the interpreter's tools know one sandbox of each caller")
{
    sandbox_stage s;
    auto result = s.tool("execute_code", {{"code", "print(1)"}});
    CHECK(text(result, "status") == "error");
    CHECK(text(result, "error_type") == "StateError");
    CHECK(text(result, "message").find("initialize_sandbox") != std::string::npos);
    const auto made = s.tool("initialize_sandbox", {{"image", "alpine:latest"}});
    CHECK(text(made, "status") == "success");
    CHECK(text(s.tool("initialize_sandbox"), "container_id") == text(made, "container_id"));
    result = s.tool("execute_code", {{"code", "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)"}});
    CHECK(text(result, "status") == "success");
    CHECK(text(result, "output") == "1\n2\n3\n");
    CHECK(result.at("exit_code") == 0);
    result = s.tool("execute_code", {{"code", "raise SystemExit(3)"}});
    CHECK(text(result, "status") == "error");
    CHECK(text(result, "error_type") == "ExecutionError");
    CHECK(text(result, "message") == "Execution failed with exit code 3");
    CHECK(result.at("exit_code") == 3);
    CHECK_FALSE(s.last.is_error);
    CHECK(text(s.as("bob", "execute_code", {{"code", "1"}}), "error_type") == "StateError");
    result = s.tool("stop_sandbox");
    CHECK(text(result, "status") == "success");
    CHECK(text(result, "message") == "Sandbox stopped and removed.");
    CHECK(text(s.tool("execute_code", {{"code", "1"}}), "error_type") == "StateError");
}

TEST_CASE("sessions without authentication do not share the interpreter's sandbox")
{
    sandbox_stage s;
    const auto in_session = [&](const char* session, std::string name, json::object arguments) {
        caller who;
        who.session = session;
        return run_coroutine(s.io, s.start(std::move(name), std::move(arguments), std::move(who)), std::chrono::seconds(60)).structured;
    };
    const auto first = text(in_session("one", "initialize_sandbox", {}), "container_id");
    CHECK(text(in_session("two", "execute_code", {{"code", "1"}}), "error_type") == "StateError");
    CHECK(text(in_session("two", "initialize_sandbox", {}), "container_id") != first);
    CHECK(text(in_session("one", "execute_code", {{"code", "print(7)"}}), "output") == "7\n");
}

TEST_CASE("code runs in every language that is installed; an unknown one lists the known")
{
    sandbox_stage s;
    s.tool("initialize_sandbox");
    const std::vector<std::pair<std::string, std::string>> programs{
        {"python", "print('hi')"}, {"bash", "echo hi"}, {"sh", "echo hi"}, {"perl", "print \"hi\\n\";"}, {"javascript", "console.log('hi')"},
        {"ruby", "puts 'hi'"}, {"lua", "print('hi')"}, {"php", "echo \"hi\\n\";"}, {"c", "#include <stdio.h>\nint main(void) { puts(\"hi\"); }"},
        {"c++", "#include <cstdio>\nint main() { std::puts(\"hi\"); }"}, {"go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hi\") }"},
        {"rust", "fn main() { println!(\"hi\"); }"}, {"awk", "BEGIN { print \"hi\" }"}, {"sql", "select 'hi'"}, {"r", "cat('hi\\n')"}};
    const auto known = text(s.tool("execute_code", {{"code", "1"}, {"language", "klingon"}}), "message");
    CHECK(known.find("python") != std::string::npos);
    for (const auto& [language, code] : programs) {
        if ((known + ",").find(" " + language + ",") == std::string::npos && !known.ends_with(" " + language + ".")) continue;
        INFO(language);
        const auto result = s.tool("execute_code", {{"code", code}, {"language", language}});
        INFO(text(result, "output"));
        CHECK(text(result, "output").find("hi") != std::string::npos);
        CHECK(text(result, "status") == "success");
    }
    const auto broken = s.tool("execute_code", {{"code", "int main() { return x; }"}, {"language", "c"}});
    CHECK(text(broken, "status") == "error");
}

TEST_CASE("a job outlives its call, can be read in pieces, and keeps its result")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto started = s.tool("execute_terminal_command",
                                {{"sandbox_id", id}, {"command", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 4"}, {"run_in_background", true}});
    const auto job = text(started, "job_id");
    CHECK(handle_maker::fits("job", job));
    auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(text(seen, "output") == "one\n");
    CHECK(text(seen, "state") == "running");
    CHECK_FALSE(seen.contains("result"));
    CHECK(s.tool("job_list").at("jobs").as_array().size() == 1);
    s.shell_in(id, "touch go");
    std::string rest;
    while (text(seen, "state") == "running") {
        seen = s.tool("job_poll", {{"job_id", job}, {"cursor", seen.at("cursor")}, {"wait", 30}});
        rest += text(seen, "output");
    }
    CHECK(rest == "two\n");
    CHECK(text(seen, "state") == "finished");
    CHECK(seen.at("result").as_object().at("exit_code") == 4);
    CHECK(text(seen.at("result").as_object(), "stdout") == "one\ntwo\n");
    CHECK(text(s.tool("job_poll", {{"job_id", job}}), "output") == "one\ntwo\n");
    CHECK(text(s.as("bob", "job_poll", {{"job_id", job}}), "error_type") == "NotFound");
    CHECK(text(s.as("bob", "job_kill", {{"job_id", job}}), "error_type") == "NotFound");
    CHECK(s.as("bob", "job_list", {}).at("jobs").as_array().empty());
}

TEST_CASE("a job ends when it is killed and when its sandbox is deleted")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto begin = [&] {
        const auto job = text(s.tool("execute_terminal_command", {{"sandbox_id", id}, {"command", "echo up; sleep 1000"}, {"run_in_background", true}}), "job_id");
        CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}}), "output") == "up\n");
        return job;
    };
    const auto first = begin();
    CHECK(text(s.tool("job_kill", {{"job_id", first}}), "state") == "killed");
    CHECK(text(s.tool("job_kill", {{"job_id", first}}), "state") == "killed");
    const auto second = begin();
    s.tool("delete_sandbox", {{"sandbox_id", id}});
    CHECK(text(s.tool("job_poll", {{"job_id", second}, {"wait", 30}}), "state") == "failed");
}

TEST_CASE("commands and Python of the caller's workspace run in the background, too")
{
    sandbox_stage s;
    for (const auto& [name, arguments] : std::vector<std::pair<std::string, json::object>>{
             {"system_run_command", {{"command", "echo hi"}, {"run_in_background", true}}},
             {"system_run_python", {{"code", "print('hi')"}, {"run_in_background", true}}}}) {
        const auto job = text(s.tool(name, arguments), "job_id");
        auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
        while (text(seen, "state") == "running") seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", seen.at("cursor")}});
        CHECK(text(s.tool("job_poll", {{"job_id", job}}), "output") == "hi\n");
        CHECK(seen.at("result").as_object().at("success") == true);
    }
}

TEST_CASE("a fork has the files of the first and nothing else in common with it")
{
    sandbox_stage s;
    const auto first = s.create();
    s.shell_in(first, "mkdir -p d; echo 1 > d/a; ln -s d/a link; chmod 755 d/a; truncate -s 10M sparse");
    const auto second = text(s.tool("fork_sandbox", {{"sandbox_id", first}, {"name", "copy"}}), "sandbox_id");
    CHECK(text(s.shell_in(second, "cat link; stat -c %a d/a; du -k sparse | cut -f1"), "stdout") == "1\n755\n0\n");
    s.shell_in(second, "echo 2 > d/a");
    CHECK(text(s.shell_in(first, "cat d/a"), "stdout") == "1\n");
}

TEST_CASE("a snapshot is a state to go back to")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo 1 > a");
    const auto kept = s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}});
    CHECK(kept.at("snapshots").as_array().size() == 1);
    CHECK(text(s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}}), "error_type") == "NameTaken");
    s.shell_in(id, "echo 2 > a; echo 3 > b");
    CHECK(s.tool("restore_sandbox", {{"sandbox_id", id}, {"snapshot", "first"}}).at("success") == true);
    CHECK(text(s.shell_in(id, "cat a; ls"), "stdout") == "1\na\n");
    CHECK(text(s.tool("restore_sandbox", {{"sandbox_id", id}, {"snapshot", "second"}}), "error_type") == "NotFound");
    CHECK(s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}, {"action", "delete"}}).at("snapshots").as_array().empty());
}

TEST_CASE("the quotas of number and disk name their setting and what takes the place")
{
    settings chosen = all_programs();
    chosen.sandbox_max_per_caller = 2;
    chosen.sandbox_disk_quota = 4 << 20;
    sandbox_stage s(chosen);
    const auto id = s.create("big");
    s.create();
    CHECK(text(s.tool("create_sandbox"), "error").find("SANDBOX_MAX_PER_CALLER") != std::string::npos);
    CHECK_FALSE(s.as("bob", "create_sandbox", {}).contains("error"));
    const auto refused = s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"content", base64_encode(std::string(5 << 20, 'x'))}, {"dest_path", "x"}});
    CHECK(text(refused, "error_type") == "QuotaExceeded");
    CHECK(text(refused, "error").find("SANDBOX_DISK_QUOTA") != std::string::npos);
    const auto ended = s.shell_in(id, "for i in $(seq 1000); do head -c 1000000 /dev/urandom > f$i; sleep 0.05; done");
    CHECK(text(ended, "cause") == "file_size_limit");
    CHECK(text(ended, "error").find("SANDBOX_DISK_QUOTA") != std::string::npos);
    CHECK(s.shell_in(id, "rm f*").at("success") == true);
}

TEST_CASE("idle sandboxes are stopped and old ones deleted, busy ones neither")
{
    sandbox_stage s;
    const auto idle = s.create("idle");
    const auto busy = s.create("busy");
    const auto job = text(s.tool("execute_terminal_command", {{"sandbox_id", busy}, {"command", "echo up; sleep 1000"}, {"run_in_background", true}}), "job_id");
    s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    const auto status = [&](const std::string& id) {
        for (const auto& each : s.all->sandboxes->store().all())
            if (each.id == id) return each.status;
        return std::string("gone");
    };
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 3'000));
    CHECK(status(idle) == "stopped");
    CHECK(status(busy) == "running");
    CHECK(text(s.shell_in(idle, "echo on"), "stdout") == "on\n");
    CHECK(status(idle) == "running");
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 31 * 86'400.0));
    CHECK(status(idle) == "gone");
    CHECK_FALSE(fs::exists(s.files_of(idle)));
    CHECK(status(busy) == "running");
}

TEST_CASE("after a restart sandboxes are there as they were, and what is left of others is gone")
{
    settings chosen = all_programs();
    temporary_folder kept;
    chosen.sandbox_root = kept.path;
    asio::io_context io;
    blocking_pool pool(1);
    std::string id;
    {
        sandbox_manager first(chosen, io.get_executor(), pool);
        id = run_coroutine(io, first.create({}, {"work", {}})).id;
        const auto half = run_coroutine(io, first.create({}, {"half", {}}));
        first.store().begin_delete(half.id);                                            // killed in the middle of a deletion
        std::ofstream(first.places().workspace(id) / "a.txt") << "1";
        fs::create_directories(first.places().workspace(first.handles().make("sbx")));  // and of a creation
        const auto lost = run_coroutine(io, first.create({}, {"lost", {}}));
        fs::remove_all(first.places().folder(lost.id));
    }
    sandbox_manager second(chosen, io.get_executor(), pool);
    const auto all = second.list({});
    REQUIRE(all.size() == 1);
    CHECK(all[0].id == id);
    CHECK(all[0].status == "stopped");
    CHECK(fs::exists(second.places().workspace(id) / "a.txt"));
    CHECK(second.places().all() == std::vector<std::string>{id});
}

namespace {

struct kernel_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;
    json::object keep(std::string code, json::object more = {})
    {
        more["sandbox_id"] = id;
        more["code"] = code;
        more["stateful"] = true;
        return tool("execute_python_code", std::move(more));
    }
    std::string id = create();
};

}  // namespace

TEST_CASE("a kernel keeps variables, imports and functions, and gives the last expression's value")
{
    kernel_stage s;
    auto result = s.keep("import math\nx = 41\ndef f(a):\n    return a + x\nprint('made')");
    CHECK(text(result, "stdout") == "made\n");
    CHECK_FALSE(result.contains("result"));
    result = s.keep("f(1)");
    CHECK(result.at("result") == 42);
    CHECK(result.at("success") == true);
    CHECK(s.keep("_ * math.floor(1.5)").at("result") == 42);
    CHECK(text(s.keep("object()"), "result").find("<object object") == 0);
    result = s.keep("1/0");
    CHECK(result.at("exit_code") == 1);
    CHECK(text(result, "stderr").find("ZeroDivisionError") != std::string::npos);
    CHECK(text(result, "stderr").find("1/0") != std::string::npos);
    CHECK(s.keep("import sys; sys.exit(3)").at("exit_code") == 3);
    CHECK(s.keep("def broken(").at("exit_code") == 1);
    CHECK(s.keep("open('a.txt', 'w').write('1'); x").at("result") == 41);
    CHECK(strings(s.last.structured, "files") == std::vector<std::string>{"a.txt"});
    CHECK(text(s.python_in(s.id, "print('x' in globals())"), "stdout") == "False\n");
}

TEST_CASE("code that takes too long is interrupted and the kernel's variables stay")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto result = s.keep("print('before', flush=True)\nimport time\ntime.sleep(1000)", {{"timeout", 0.5}});
    CHECK(text(result, "stdout") == "before\n");
    CHECK(text(result, "cause") == "timeout");
    CHECK(s.last.is_error);
    CHECK(s.keep("x").at("result") == 1);
}

TEST_CASE("code that cannot be interrupted ends its kernel, and the next call says nothing of the old variables")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto result = s.keep("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", {{"timeout", 0.3}});
    CHECK(text(result, "cause") == "timeout");
    CHECK(text(result, "kernel").find("variables are lost") != std::string::npos);
    CHECK(s.keep("'x' in globals()").at("result") == false);
}

TEST_CASE("a kernel that is killed by its limit says so and starts anew")
{
    settings chosen = all_programs();
    chosen.kernel_memory_limit = 100 << 20;
    kernel_stage s(chosen);
    const auto result = s.keep("x = bytearray(400_000_000)\nprint(len(x))");
    // The allocation is refused, or the process is ended: both are the limit's doing.
    if (result.contains("kernel")) CHECK(text(result, "kernel").find("SANDBOX_KERNEL_MEMORY") != std::string::npos);
    else CHECK(text(result, "stderr").find("MemoryError") != std::string::npos);
    CHECK(s.keep("1 + 1").at("result") == 2);
}

TEST_CASE("runs of one kernel take turns, an interrupt ends the first, a restart forgets everything")
{
    kernel_stage s;
    s.keep("x = 5");
    const auto start = [&](std::string code) {
        return text(s.keep(std::move(code), {{"run_in_background", true}}), "job_id");
    };
    const auto first = start("print('up')\nimport time\ntime.sleep(1000)");
    CHECK(text(s.tool("job_poll", {{"job_id", first}, {"wait", 30}}), "output") == "up\n");
    const auto second = start("x + 1");
    CHECK(text(s.tool("job_poll", {{"job_id", second}, {"wait", 30}}), "output").find("Waiting") == 0);
    CHECK(s.tool("interrupt_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    const auto ended = [&](const std::string& job) {
        auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
        while (text(seen, "state") == "running") seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
        return seen.at("result").as_object();
    };
    CHECK(ended(first).at("exit_code") == 130);
    CHECK(ended(second).at("result") == 6);
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}}).at("was_running") == false);
    CHECK(s.keep("'x' in globals()").at("result") == false);
}

TEST_CASE("a deleted sandbox takes its kernel along")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto job = text(s.keep("print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}}), "job_id");
    s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", s.id}}).at("success") == true);
    CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 100}}), "state") == "failed");
}
