#include "test/execution/files/file_support.hpp"
#include "test/execution/runs/run_support.hpp"
#include "test/support/run_coroutine.hpp"

#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/silent_io.hpp"
#include "mcp/tool_registry.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "store/record_folder.hpp"
#include "tools/tools.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct file_stage {
    file_stage() { add_file_tools(registry, {files, sandboxes, config}); }

    static settings settings_of(const file_scene& scene)
    {
        settings config;
        config.sandbox_root = scene.base;
        config.file_max_size = 1 << 20;
        config.file_allowed_extensions = {"txt"};
        return config;
    }

    awaitable<tool_result> start(std::string name, json::object arguments)
    {
        tool_context context{who, silent, "test", {}, {}};
        tool_result result = co_await registry.find(name)->call(context, std::move(arguments));
        co_return result;
    }

    tool_result call(const std::string& name, std::string_view arguments)
    {
        json::object input = json::parse(arguments).as_object();
        CHECK(registry.validate(name, input) == "");
        return run_coroutine(io, start(name, std::move(input)));
    }

    file_scene scene;
    asio::io_context io;
    blocking_pool pool;
    settings config = settings_of(scene);
    scripted_backend backend;
    quotas limits{config};
    record_folder records{scene.base / "sandboxes"};
    sandbox_manager sandboxes{config, io.get_executor(), backend, pool, records, limits, handle_maker("here")};
    sandbox_files files{config, sandboxes, pool};
    tool_registry registry;
    silent_io silent;
    caller who;
};

}  // namespace

TEST_CASE("file tools write, list, read, move and delete with the documented results")
{
    file_stage stage;
    const auto written = stage.call("file_write", R"({"path": "data/a.txt", "content": "hällo"})");
    CHECK(json::serialize(written.structured) == R"({"path":"data/a.txt","success":true})");
    CHECK_FALSE(written.is_error);

    const auto read = stage.call("file_read", R"({"path": "data/a.txt"})").structured;
    CHECK(read.at("content") == "hällo");
    CHECK(read.at("size") == 6);
    CHECK(read.at("modified").is_double());
    CHECK(read.at("success") == true);
    CHECK_FALSE(read.contains("truncated"));

    const auto part = stage.call("file_read", R"({"path": "data/a.txt", "limit": 2})").structured;
    CHECK(part.at("content") == "h");
    CHECK(part.at("truncated") == true);
    CHECK(part.at("next_offset") == 1);

    const auto moved = stage.call("file_move", R"({"source": "data/a.txt", "destination": "b.txt"})").structured;
    CHECK(json::serialize(moved) == R"({"source":"data/a.txt","destination":"b.txt","success":true})");

    const auto deleted = stage.call("file_delete", R"({"path": "b.txt"})").structured;
    CHECK(json::serialize(deleted) == R"({"path":"b.txt","success":true})");
}

TEST_CASE("file_list gives null as the size of folders, and names that are no UTF-8 as valid JSON")
{
    file_stage stage;
    stage.scene.put("\xff\n", "");
    const auto listed = stage.call("file_list", "{}").structured;
    CHECK(listed.at("path") == "/");
    CHECK(listed.at("success") == true);
    const auto& entries = listed.at("entries").as_array();
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].at("is_directory") == false);
    CHECK(entries[0].at("path") == "hello.txt");
    CHECK(entries[1].at("is_directory") == true);
    CHECK(entries[1].at("size").is_null());
    CHECK(entries[2].at("name") == "\\xFF\n");
    CHECK(entries[2].at("name_base64") == "/wo=");
    CHECK(json::parse(jsonrpc::write_json(listed)).at("entries").at(2).at("name") == "\\xFF\n");

    const auto page = stage.call("file_list", R"({"limit": 1, "recursive": true})").structured;
    CHECK(page.at("truncated") == true);
    json::object next{{"limit", 1}, {"recursive", true}, {"cursor", page.at("next_cursor")}};
    const auto second = stage.call("file_list", json::serialize(next)).structured;
    CHECK(second.at("entries").at(0).at("path") == "sub");
}

TEST_CASE("file_list takes patterns with braces, and says when nothing matches")
{
    file_stage stage;
    for (const auto* name : {"a.js", "b.ts", "sub/c.ts"}) stage.scene.put(name, "");
    const auto count = [&stage](const char* arguments) {
        return stage.call("file_list", arguments).structured.at("entries").as_array().size();
    };
    CHECK(count(R"({"pattern": "*.{js,ts}"})") == 2);
    CHECK(count(R"({"pattern": "*.{js,ts}", "recursive": true})") == 3);
    CHECK(count(R"({"pattern": "!*.{js,ts}"})") == 2);
    const auto none = stage.call("file_list", R"({"pattern": "*.{c,h}"})").structured;
    CHECK(none.at("success") == true);
    CHECK(contains(std::string(none.at("note").as_string()), "*.{c,h}"));
    CHECK_FALSE(stage.call("file_list", R"({"pattern": "*.js"})").structured.contains("note"));
}

TEST_CASE("file tools work from the home folder, which is where the files are")
{
    file_stage stage;
    CHECK_FALSE(stage.call("file_write", R"({"path": "~/new/a.txt", "content": "x"})").is_error);
    CHECK(stage.scene.get("new/a.txt") == "x");
    CHECK_FALSE(fs::exists(stage.scene.workspace / "~"));
    CHECK_FALSE(stage.call("file_move", R"({"source": "~/new/a.txt", "destination": "~/b.txt"})").is_error);
    CHECK(stage.scene.get("b.txt") == "x");
}

TEST_CASE("file tools write contents in base64 as libraries make them, and name the place of what is none")
{
    file_stage stage;
    CHECK_FALSE(
        stage.call("file_write", R"({"path": "a.txt", "encoding": "base64", "content": "aGVs\r\nbG8"})").is_error);
    CHECK(stage.scene.get("a.txt") == "hello");
    const auto refused = stage.call("file_write", R"({"path": "a.txt", "encoding": "base64", "content": "aGVs*bG8"})");
    CHECK(contains(std::string(refused.structured.at("error").as_string()), "position 5"));
    CHECK(stage.scene.get("a.txt") == "hello");
}

TEST_CASE("file tools that change something refuse arguments that mean another target, and do nothing")
{
    file_stage stage;
    for (const auto* more : {R"("container": "x")", R"("cwd": "sub")", R"("dry_run": true)", R"("recursive": true)"}) {
        auto arguments = json::parse(std::string(R"({"path": "hello.txt", )") + more + "}").as_object();
        CHECK(contains(stage.registry.validate("file_delete", arguments), "nothing was done"));
    }
    CHECK(stage.registry.validate("file_list", json::object{{"path", "."}, {"cwd", "sub"}}).empty());
}

TEST_CASE("file tools answer a refusal with a sentence that the model can use")
{
    file_stage stage;
    const std::pair<const char*, const char*> calls[] = {
        {"file_read", R"({"path": "../outside/secret.txt"})"},
        {"file_read", R"({"path": "\u0000"})"},
        {"file_read", R"({"path": "hello.txt", "encoding": "x"})"},
        {"file_write", R"({"path": "x.sh", "content": ""})"},
        {"file_list", R"({"path": ".."})"},
        {"file_delete", R"({"path": "/"})"},
        {"file_move", R"({"source": "hello.txt", "destination": "sub"})"},
    };
    for (const auto& [name, arguments] : calls) {
        INFO(name << ' ' << arguments);
        const auto result = stage.call(name, arguments);
        CHECK(result.is_error);
        CHECK(result.structured.at("success") == false);
        CHECK(result.structured.at("error").as_string().size() > 20);
    }
}

TEST_CASE("file tools make no folder for a path of the machine, and say what a leading slash means")
{
    file_stage stage;
    const auto refused = [&](const char* name, const char* arguments) {
        INFO(name << ' ' << arguments);
        const auto result = stage.call(name, arguments);
        CHECK(result.is_error);
        CHECK(contains(std::string(result.structured.at("error").as_string()), "leading /"));
    };
    refused("file_write", R"({"path": "/var/log/a.txt", "content": "x"})");
    refused("file_move", R"({"source": "hello.txt", "destination": "/home/me/hello.txt"})");
    refused("file_read", R"({"path": "/etc/motd.txt"})");
    refused("file_delete", R"({"path": "/srv/a.txt"})");
    for (const auto* folder : {"var", "home", "etc", "srv"}) CHECK_FALSE(fs::exists(stage.scene.workspace / folder));
    CHECK_FALSE(stage.call("file_write", R"({"path": "var/a.txt", "content": "x"})").is_error);
    CHECK_FALSE(stage.call("file_write", R"({"path": "/var/log/b.txt", "content": "y"})").is_error);
    CHECK_FALSE(stage.call("file_write", R"({"path": "/c.txt", "content": "z"})").is_error);
    CHECK(stage.scene.get("var/log/b.txt") + stage.scene.get("c.txt") == "yz");
    const auto listed = stage.call("file_list", R"({"path": "/var", "recursive": true})").structured;
    CHECK(json::serialize(listed.at("entries")).find(R"("path":"var/log/b.txt")") != std::string::npos);
}

TEST_CASE("file_read pages by bytes and by lines, and a page fits the result")
{
    file_stage stage;
    std::string text;
    for (int i = 1; i <= 9000; ++i) text += "line " + std::to_string(i) + "\n";
    json::object write{{"path", "a.txt"}, {"content", text}};
    run_coroutine(stage.io, stage.start("file_write", write));
    const auto first = stage.call("file_read", R"({"path": "a.txt"})").structured;
    CHECK(first.at("size") == text.size());
    const auto next = first.at("next_offset").to_number<std::size_t>();
    CHECK(first.at("content").as_string() == text.substr(0, next));
    CHECK(jsonrpc::write_json(first).size() <= 24 << 10);
    CHECK(next > 15'000);
    const auto few = stage.call("file_read", R"({"path": "a.txt", "line": 100, "lines": 2})").structured;
    CHECK(few.at("content") == "line 100\nline 101\n");
    CHECK(few.at("next_line") == 102);
    const auto rest = stage.call("file_read", R"({"path": "a.txt", "line": 8999, "lines": 50})").structured;
    CHECK(rest.at("content") == "line 8999\nline 9000\n");
    CHECK_FALSE(rest.contains("next_offset"));
    CHECK(stage.call("file_read", R"({"path": "a.txt", "line": 9999})").structured.at("content") == "");
    const auto bytes = stage.call("file_read", R"({"path": "a.txt", "encoding": "base64"})").structured;
    CHECK(jsonrpc::write_json(bytes).size() <= 24 << 10);
    CHECK(bytes.at("next_offset").to_number<std::size_t>() > 15'000);
}

TEST_CASE("file tools declare schemas that refuse wrong arguments, and true annotations")
{
    file_stage stage;
    CHECK(contains(stage.registry.validate("file_read", {}), "path"));
    CHECK(contains(stage.registry.validate("file_read", {{"path", json::object()}}), "path"));
    CHECK(contains(stage.registry.validate("file_read", {{"path", "x"}, {"offset", -1}}), "offset"));
    CHECK(contains(stage.registry.validate("file_write", {{"path", "x"}}), "content"));
    CHECK(contains(stage.registry.validate("file_read", {{"typo", "x"}}), "`typo` is not known"));
    for (const auto& item : stage.registry.all()) {
        const auto& about = item->definition();
        INFO(about.name);
        CHECK(about.annotations.read_only == (about.name == "file_read" || about.name == "file_list"));
        CHECK(about.annotations.destructive != about.annotations.read_only);
        CHECK_FALSE(about.annotations.open_world);
        CHECK(about.output_schema.contains("properties"));
        CHECK_FALSE(contains(json::serialize(about.input_schema), "$ref"));
    }
}

TEST_CASE("file_edit makes all edits or none, and answers with a diff")
{
    file_stage stage;
    const auto edited = stage.call("file_edit", R"({"path": "hello.txt", "edits": [
        {"old_text": "hello", "new_text": "hi"}, {"old_text": "hi", "new_text": "good day"}]})");
    CHECK_FALSE(edited.is_error);
    CHECK(
        json::serialize(edited.structured) ==
        R"({"success":true,"path":"hello.txt","replaced":2,"diff":"--- hello.txt\n+++ hello.txt\n@@ -1 +1 @@\n-hello\n+good day\n"})");
    const auto alone =
        stage.call("file_edit", R"({"path": "hello.txt", "edits": {"old_text": "good", "new_text": "bad"}})");
    CHECK_FALSE(alone.is_error);
    const auto refused = stage.call("file_edit", R"({"path": "hello.txt", "edits": [
        {"old_text": "bad", "new_text": "new"}, {"old_text": "new dya", "new_text": "night"}]})");
    CHECK(refused.is_error);
    CHECK(contains(std::string(refused.structured.at("error").as_string()),
                   "edits[1]: old_text is not found. The nearest line is 1: `new day`"));
    CHECK(stage.scene.get("hello.txt") == "bad day\n");
    CHECK(contains(stage.registry.validate("file_edit", {{"path", "hello.txt"}}), "old_text"));
}

TEST_CASE("a long diff is cut for a model, and whole for a program")
{
    file_stage s;
    std::string before, after;
    for (int i = 1; i <= 2000; ++i) {
        before += "old " + std::to_string(i) + "\n";
        after += "new " + std::to_string(i) + "\n";
    }
    const auto diff_of = [&](bool is_program, std::size_t room) {
        run_coroutine(s.io, s.start("file_write", {{"path", "a.txt"}, {"content", before}}));
        tool_context context{s.who, s.silent, "test", {}, {}};
        context.is_program = is_program;
        context.result_limit = room;
        const json::array edits{json::object{{"old_text", before}, {"new_text", after}}};
        auto call = s.registry.find("file_edit")->call(context, {{"path", "a.txt"}, {"edits", edits}});
        return std::string(run_coroutine(s.io, std::move(call)).structured.at("diff").as_string());
    };
    const auto whole = diff_of(true, 24 << 10);
    CHECK(whole.ends_with("+new 2000\n"));
    const auto cut = diff_of(false, 24 << 10);
    CHECK(cut.size() < 4200);
    CHECK(cut.find("file_read with line ") != std::string::npos);
    CHECK(diff_of(false, 1 << 20) == whole);
}

TEST_CASE("edits of one file that come at the same time are all made")
{
    file_stage stage;
    constexpr int many = 12;
    std::string text;
    for (int i = 10; i < 10 + many; ++i) text += "row " + std::to_string(i) + "\n";
    stage.scene.put("rows.txt", text);
    int done = 0;
    const auto edit = [](file_stage& of, int number, int& count) -> awaitable<> {
        const std::string row = "row " + std::to_string(number);
        json::array edits{json::object{{"old_text", row}, {"new_text", "done " + std::to_string(number)}}};
        json::object arguments{{"path", "rows.txt"}, {"edits", std::move(edits)}};
        const auto result = co_await of.start("file_edit", std::move(arguments));
        if (!result.is_error) ++count;
    };
    task_group group(stage.io.get_executor());
    for (int i = 10; i < 10 + many; ++i) group.spawn("edit", edit(stage, i, done));
    run_coroutine(stage.io, group.wait_idle(std::chrono::seconds(30)));
    CHECK(done == many);
    CHECK(stage.scene.get("rows.txt").find("row") == std::string::npos);
}
