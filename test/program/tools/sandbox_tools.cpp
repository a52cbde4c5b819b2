#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a sandbox is created, listed, used and deleted")
{
    sandbox_stage s;
    const auto sandbox = s.tool("create_sandbox", {{"name", "work"}});
    const auto id = text(sandbox, "sandbox_id");
    CHECK(handle_maker::fits("sbx", id));
    CHECK(text(sandbox, "name") == "work");
    CHECK(text(sandbox, "status") == "running");
    const auto listed = s.tool("list_sandboxes").at("sandboxes").as_array();
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].as_object().at("sandbox_id") == json::value(id));
    for (const char* key : {"name", "status", "image", "created", "last_used"})
        CHECK(listed[0].as_object().contains(key));
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", id}}).at("success") == true);
    CHECK(s.tool("list_sandboxes").at("sandboxes").as_array().empty());
    CHECK_FALSE(fs::exists(s.files_of(id)));
    CHECK(text(s.python_in(id, "1"), "error_type") == "NotFound");
}

TEST_CASE("python in a sandbox gives stdout, stderr, exit code, and the files it made or changed")
{
    sandbox_stage s;
    const auto id = s.create();
    auto result = s.python_in(
        id,
        "import sys, os\nprint('out', os.getcwd())\nprint('err', file=sys.stderr)\nopen('a.txt', 'w').write('1')\n"
        "os.mkdir('d')\nopen('d/b.txt', 'w').write('2')");
    CHECK(text(result, "stdout") == "out /app/results\n");
    CHECK(text(result, "stderr") == "err\n");
    CHECK(result.at("exit_code") == 0);
    CHECK(strings(result, "files") == std::vector<std::string>{"a.txt", "d/b.txt"});
    CHECK(strings(result, "file_links") ==
          std::vector<std::string>{"sandbox://" + id + "/a.txt", "sandbox://" + id + "/d/b.txt"});
    result = s.python_in(id, "print(open('a.txt').read())");
    CHECK(text(result, "stdout") == "1\n");
    CHECK(strings(result, "files").empty());
    result = s.python_in(id, "open('a.txt', 'w').write('3')");
    CHECK(strings(result, "files") == std::vector<std::string>{"a.txt"});
    result =
        s.shell_in(id, "mkdir -p .npm/_logs .gradle; echo 1 | tee .npm/_logs/debug.log > .gradle/x; echo 4 > a.txt");
    CHECK(strings(result, "files") == std::vector<std::string>{"a.txt"});
}

TEST_CASE("a sandbox has a real shell with every program of the machine and no network")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto result =
        s.shell_in(id, "printf 'b\\na\\n' | sort > x && cat x && id -u; cat /proc/net/dev | grep -c eth");
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
    REQUIRE(content.size() == 1);
    CHECK(content[0].as_object().at("type") == "image");
    CHECK(content[0].as_object().at("mimeType") == "image/png");
    CHECK(base64_decode(text(content[0].as_object(), "data")) == "\x89PNG....");
    CHECK(strings(s.last.structured, "files") == std::vector<std::string>{"p.png", "t.txt"});
}

TEST_CASE("a name is taken once for an owner, and refused where it cannot be one")
{
    sandbox_stage s;
    s.create("work");
    CHECK(text(s.tool("create_sandbox", {{"name", "work"}}), "error_type") == "NameTaken");
    CHECK(s.last.is_error);
    CHECK_FALSE(s.as("bob", "create_sandbox", {{"name", "work"}}).contains("error"));
    for (const char* bad : {"../x", "a/b", ".", "sbx_a", " "})
        CHECK(text(s.tool("create_sandbox", {{"name", bad}}), "error_type") == "InvalidArgument");
    CHECK(fs::exists(s.folder.path / "sandboxes"));
    std::size_t folders = 0;
    for (const auto& each : fs::directory_iterator(s.folder.path / "sandboxes"))
        folders += each.path().filename().string().starts_with("sbx_") ? 1 : 0;
    CHECK(folders == 2);
}

TEST_CASE("an image that is not on the list is refused by name of the setting")
{
    sandbox_stage s;
    CHECK(text(s.tool("create_sandbox", {{"image", "evil:latest"}}), "error").find("SANDBOX_IMAGES") !=
          std::string::npos);
    CHECK(text(s.tool("create_sandbox", {{"image", "absent:1"}}), "error_type") == "ImageNotAllowed");
}

TEST_CASE("a name that is listed for this machine's programs means them, and the answer says so")
{
    sandbox_stage s;
    for (const char* name : {"native", "alpine", "alpine:latest", "python-sandbox:latest"})
        CHECK(text(s.tool("create_sandbox", {{"image", name}}), "image") == "native");
    CHECK(text(s.tool("create_sandbox", {{"image", "../x"}}), "error_type") == "InvalidArgument");
}

TEST_CASE("the argument image names the images, and a list leaves it out where there is no choice")
{
    const auto image_of = [](const json::object& schema) {
        const auto& properties = object_of(schema, "properties");
        return properties.contains("image") ? text(properties.at("image").as_object(), "description") : std::string();
    };
    sandbox_stage usual;
    const auto& alone = usual.registry.find("create_sandbox")->definition();
    CHECK(image_of(alone.input_schema).starts_with("One of native, alpine:latest, "));
    CHECK(image_of(alone.listed_schema).empty());
    settings config;
    config.sandbox_images = {"native", "python:3.12", "alpine:latest=native"};
    sandbox_stage more(config);
    const auto& with_images = more.registry.find("create_sandbox")->definition();
    CHECK(image_of(with_images.listed_schema) == "One of native, python:3.12, alpine:latest");
}

TEST_CASE("an image that is allowed and absent is never this machine's programs")
{
    auto config = all_programs();
    config.sandbox_images = {"absent"};
    sandbox_stage s(config);
    s.tool("create_sandbox", {{"image", "absent"}});
    CHECK(text(s.last.structured, "error_type") == "ImageNotFound");
    CHECK(text(s.last.structured, "error").find("container-mcp image add docker://absent:latest") != std::string::npos);
}

TEST_CASE("a sandbox of somebody else is as one that never was, for every tool")
{
    sandbox_stage s;
    const auto own = text(s.as("ann", "create_sandbox", {{"name", "mine"}}), "sandbox_id");
    const std::string never = "sbx_node_0123456789abcdef0123456789abcdef";
    const std::vector<std::pair<std::string, json::object>> calls{
        {"execute_python_code", {{"code", "1"}}},
        {"execute_terminal_command", {{"command", "ls"}}},
        {"execute_code", {{"code", "1"}}},
        {"stop_sandbox", {}},
        {"delete_sandbox", {}},
        {"upload_file_to_sandbox", {{"content", ""}, {"dest_path", "x"}}},
        {"download_file_from_sandbox", {{"file_path", "x"}}},
        {"list_sandbox_files", {}},
        {"fork_sandbox", {}},
        {"pause_sandbox", {}},
        {"resume_sandbox", {}},
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
        return s.tool("upload_file_to_sandbox",
                      {{"sandbox_id", id}, {"content", base64_encode(bytes)}, {"dest_path", path}});
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
    for (const char* folder : {"x/", "/app/results", ".", "d/"}) CHECK(upload(folder, "x").at("success") == false);
    CHECK(text(s.last.structured, "error").find("add the name of the file") != std::string::npos);
    CHECK(s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"content", "!"}, {"dest_path", "x"}}).at("success") ==
          false);
    CHECK(s.tool("upload_file_to_sandbox", {{"sandbox_id", id}}).at("success") == false);
}

TEST_CASE("a local file is taken from the upload folder alone")
{
    settings config = all_programs();
    temporary_folder outside;
    fs::create_directories(outside.path / "up");
    std::ofstream(outside.path / "up/in.txt") << "hello";
    std::ofstream(outside.path / "secret.txt") << "no";
    fs::create_symlink(outside.path / "secret.txt", outside.path / "up/link.txt");
    config.sandbox_upload_folder = outside.path / "up";
    sandbox_stage s(config);
    const auto id = s.create();
    const auto upload = [&](std::string path) {
        return s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"local_file_path", path}});
    };
    CHECK(upload((outside.path / "up/in.txt").string()).at("size") == 5);
    CHECK(upload("in.txt").at("success") == true);
    CHECK(text(s.shell_in(id, "cat in.txt"), "stdout") == "hello");
    for (const auto& bad : {std::string("../secret.txt"), std::string("link.txt"),
                            (outside.path / "secret.txt").string(), std::string("/etc/passwd")})
        CHECK(upload(bad).at("success") == false);
}

TEST_CASE("a local file keeps its name in the folder that dest_path names")
{
    settings config = all_programs();
    temporary_folder outside;
    std::ofstream(outside.path / "in.txt") << "hello";
    config.sandbox_upload_folder = outside.path;
    sandbox_stage s(config);
    const auto id = s.create();
    s.shell_in(id, "mkdir there; ln -s /tmp out");
    const std::vector<std::pair<std::string, std::string>> destinations{
        {"/app/results", "in.txt"}, {"/app/results/", "in.txt"}, {".", "in.txt"},
        {"sub/", "sub/in.txt"},     {"there", "there/in.txt"},   {"/app/results/a/b/", "a/b/in.txt"},
        {"other.txt", "other.txt"}};
    for (const auto& [dest_path, path] : destinations) {
        INFO(dest_path);
        const auto stored = s.tool("upload_file_to_sandbox",
                                   {{"sandbox_id", id}, {"local_file_path", "in.txt"}, {"dest_path", dest_path}});
        CHECK(stored.at("success") == true);
        CHECK(text(stored, "path") == path);
        CHECK(text(stored, "file_link").ends_with("in.txt") == path.ends_with("in.txt"));
        CHECK(fs::file_size(s.files_of(id) / path) == 5);
    }
    for (const char* bad : {"out/", "out", "../", "/etc/"}) {
        INFO(bad);
        const auto refused =
            s.tool("upload_file_to_sandbox", {{"sandbox_id", id}, {"local_file_path", "in.txt"}, {"dest_path", bad}});
        CHECK((refused.at("success") == false || std::string_view(bad) == "out"));
    }
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

TEST_CASE("the file tools write, read, edit and list in a sandbox that they are given")
{
    sandbox_stage s;
    const auto id = s.create();
    CHECK(s.tool("file_write", {{"sandbox_id", id}, {"path", "src/main.rs"}, {"content", "fn main() {}\n"}})
              .at("success")
              .as_bool());
    json::array edits{json::object{{"old_text", "{}"}, {"new_text", "{ run(); }"}}};
    const auto edited =
        s.tool("file_edit", {{"sandbox_id", id}, {"path", "/app/results/src/main.rs"}, {"edits", edits}});
    CHECK(text(edited, "diff").find("+fn main() { run(); }") != std::string::npos);
    CHECK(text(s.tool("file_read", {{"sandbox_id", id}, {"path", "src/main.rs"}}), "content") ==
          "fn main() { run(); }\n");
    CHECK(text(s.shell_in(id, "cat src/main.rs"), "stdout") == "fn main() { run(); }\n");
    const auto listed = s.tool("file_list", {{"sandbox_id", id}, {"recursive", true}});
    CHECK(json::serialize(listed.at("entries")).find("src/main.rs") != std::string::npos);
    CHECK(s.tool("file_read", {{"path", "src/main.rs"}}).at("success") == false);
    for (const char* tool : {"file_read", "file_list"}) {
        const auto refused = s.as("somebody", tool, {{"sandbox_id", id}, {"path", "src"}});
        CHECK(text(refused, "error_type") == "NotFound");
    }
    CHECK(s.tool("file_read", {{"sandbox_id", id}, {"path", "/etc/passwd"}}).at("success") == false);
}
