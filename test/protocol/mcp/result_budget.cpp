#include "mcp/result_budget.hpp"
#include "async/blocking_pool.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/pagination.hpp"
#include "mcp/result_text.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"
#include "text/cut_text.hpp"

#include <random>

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::size_t limit = 24 << 10;

struct memory_keeper final : result_keeper {
    explicit memory_keeper(std::vector<std::string>& saved) : texts(saved) {}
    awaitable<std::string> keep(caller, std::string text) override
    {
        texts.push_back(std::move(text));
        co_return ".outputs/0123456789abcdef0123456789abcdef.txt";
    }
    std::vector<std::string>& texts;
};

json::object shortened(json::object structured, std::size_t most = limit)
{
    tool_result result;
    result.structured = std::move(structured);
    const auto rest = rest_of(result, most);
    if (rest.needed) shorten(result, most, rest, rest.text.empty() ? "" : ".outputs/a.txt");
    return result.structured;
}

std::size_t written_size(const json::object& object) { return jsonrpc::write_json(object).size(); }

std::string string_in(const json::object& from, std::string_view name)
{
    return std::string(from.at(name).as_string());
}

// A value of any form, of up to some hundred kilobytes.
json::value any_value(std::mt19937& dice, int depth)
{
    const auto roll = [&](int most) { return std::uniform_int_distribution<int>(0, most)(dice); };
    const int kind = roll(depth > 0 ? 6 : 3);
    if (kind == 0) return roll(1000);
    if (kind <= 3) {
        const char* pieces[] = {"a", "\n", "\x1b", "\"", "€", "\\", "\xff", "word "};
        std::string text;
        for (int left = roll(30) == 0 ? roll(20'000) : roll(40); left > 0; --left) text += pieces[roll(7)];
        return json::value(json::string(text));
    }
    if (kind == 4) {
        json::array list;
        for (int left = roll(60); left > 0; --left) list.push_back(any_value(dice, depth - 1));
        return list;
    }
    json::object members;
    for (int left = roll(50); left > 0; --left) members["key" + std::to_string(left)] = any_value(dice, depth - 1);
    return members;
}

}  // namespace

TEST_CASE("the size of JSON is never counted too small")
{
    std::mt19937 dice(7);
    for (int i = 0; i < 100; ++i) {
        const auto value = any_value(dice, 2);
        CHECK(jsonrpc::json_size(value) >= jsonrpc::write_json(value).size());
    }
}

TEST_CASE("a result of any form fits its limit, and no member of it is lost")
{
    std::mt19937 dice(11);
    for (int i = 0; i < 40; ++i) {
        json::object structured;
        for (const char* name : {"stdout", "result", "entries", "error", "files", "cause"})
            structured[name] = any_value(dice, 2);
        const auto result = shortened(structured);
        CHECK(written_size(result) <= limit);
        CHECK(result_text(result).size() <= limit + 512);
        for (const auto& member : structured) CHECK(result.contains(member.key()));
    }
}

TEST_CASE("a long text keeps head and tail, and names the file that has all of it")
{
    const auto result =
        shortened({{"content", std::string(50'000, 'a') + std::string(50'000, 'z')}, {"size", 100'000}});
    const auto content = string_in(result, "content");
    CHECK(content.starts_with("aaaa"));
    CHECK(content.ends_with("zzzz"));
    CHECK(content.find("all of it: .outputs/a.txt ...]") != std::string::npos);
    CHECK(content.size() > limit * 9 / 10 - 1024);
    CHECK(result.at("output_uri") == "sandbox://default/.outputs/a.txt");
    CHECK(result.at("output_size") == 100'000);
    CHECK(string_in(result, "left_out") == "content: file_read .outputs/a.txt or resources/read, by offset or line");
    CHECK(shortened({{"content", "short"}}) == json::object{{"content", "short"}});
}

TEST_CASE("what a run has cut already is counted with what is cut for the limit")
{
    const auto once = written(without_middle(std::string(1000, 'a') + std::string(1000, 'z'), 1000));
    const auto twice = without_middle(once, 100);
    CHECK(twice.left_out == 1900);
    CHECK(written(twice) == std::string(50, 'a') + "\n[... 1900 bytes left out here ...]\n" + std::string(50, 'z'));
    json::object run{
        {"stdout", std::string(30'000, 'x')}, {"stderr", ""}, {"output_uri", "workspace:///.outputs/b.txt"}};
    const auto result = shortened(run);
    CHECK(result.at("output_uri") == "workspace:///.outputs/b.txt");
    CHECK_FALSE(result.contains("rest_uri"));
}

TEST_CASE("a long list keeps its beginning and says how long it was")
{
    json::array rows;
    for (int i = 0; i < 5000; ++i) rows.push_back(json::object{{"name", "file-" + std::to_string(i)}, {"size", i}});
    const auto result = shortened({{"entries", rows}, {"success", true}});
    const auto& entries = result.at("entries").as_array();
    CHECK(entries.at(0).as_object().at("name") == "file-0");
    CHECK(entries.size() > 100);
    CHECK(string_in(result, "left_out").starts_with("entries: " + std::to_string(entries.size()) + " of 5000 shown; "));
}

TEST_CASE("a caller asks for less or more, up to a maximum, by max_output of any tool")
{
    tool_definition tool;
    tool.input_schema =
        parse(R"({"type":"object","properties":{"limit":{"type":"integer"}},"additionalProperties":false})");
    const auto limit_for = [&](const char* text) {
        auto arguments = parse(text);
        const auto size = result_limit_of(tool, arguments, {});
        CHECK_FALSE(arguments.contains("max_output"));
        return size;
    };
    CHECK(limit_for("{}") == limit);
    CHECK(limit_for(R"({"max_output":100})") == 2148);
    CHECK(limit_for(R"({"max_output":"100000"})") == 102'048);
    CHECK(limit_for(R"({"max_output":99999999999})") == 1 << 20);
    CHECK(limit_for(R"({"limit":100000})") == limit);
    tool.size_argument = "limit";
    CHECK(limit_for(R"({"limit":100000})") == 102'048);
    CHECK(limit_for(R"({"limit":1})") == limit);
}

TEST_CASE("a call's result is shortened, and the rest is kept for its caller")
{
    std::vector<std::string> saved;
    harness server;
    server.core.keep_results(std::make_unique<memory_keeper>(saved));
    add(server, "echo", echo);
    server.initialize("2024-11-05");
    const std::string text(200'000, '"');
    const auto response = server.request("tools/call", call_params("echo", {{"content", text}}));
    const auto shown = string_in(result_of(response).at("content").as_array().at(0).as_object(), "text");
    CHECK(shown.size() <= limit);
    REQUIRE(saved.size() == 1);
    CHECK(saved[0] == text);
    const auto wide = server.request("tools/call", call_params("echo", {{"content", text}, {"max_output", 500'000}}));
    CHECK(string_in(result_of(wide).at("content").as_array().at(0).as_object(), "text").size() > 400'000);
    CHECK(saved.size() == 1);
}

TEST_CASE("the text of a result is what was printed, then facts in a line")
{
    const std::pair<const char*, const char*> rows[] = {
        {R"({"stdout":"a\nb\n","stderr":"","exit_code":0,"success":true,"duration_ms":1.5,"cause":"exited","cpu_ms":1})",
         "a\nb\n"},
        {R"({"stdout":"a","stderr":"oops","exit_code":3,"success":false,"cause":"exited"})",
         "a\n[stderr]\noops\nexit_code: 3"},
        {R"({"stdout":"","stderr":"","exit_code":0,"files":[],"file_links":[]})", "(no output)"},
        {R"({"output":"x\n","error":"","result":[1,2],"exit_code":0,"files":["a.png","b.csv"]})",
         "x\nresult: [1,2]; files: a.png, b.csv"},
        {R"({"success":false,"error":"Do it.","error_type":"NotFound","status":"error","message":"Do it."})", "Do it."},
        {R"({"error":"It ended.","note":"3 processes live.","kernel":"It ended."})", "It ended.\n3 processes live."},
        {R"({"success":true,"path":"a.txt"})", "path: a.txt"},
        {R"({"success":true})", "Done."},
        {R"({"entries":[{"name":"a"},{"name":"b","n":[1,2]}],"success":true})", "[entries]\nname: a\nname: b; n: 1, 2"},
        {R"({"stdout":"10%\r100%\n","stderr":"\u001b[31mred\u001b[0m","exit_code":1})",
         "100%\n[stderr]\nred\nexit_code: 1"},
        {R"({"content":"kept\rto the letter"})", "kept\rto the letter"},
        {R"({"entries":[{"name":"a.txt","path":"d/a.txt","is_directory":false,"size":356,"modified":1.5,"type":"file"},)"
         R"({"name":"b","path":"d/b","is_directory":true,"size":null,"modified":1.5,"type":"directory"}],"path":"d"})",
         "356  a.txt\nb/\npath: d"},
        {R"({"entries":[{"name":"a","path":"d/a","is_directory":false,"size":3},)"
         R"({"name":"b","path":"e/b","is_directory":false,"size":4,"type":"symlink"}],"path":"."})",
         "3  d/a\n4  e/b  (symlink)"},
        {R"({"entries":[{"name":"a","path":"d/e/a","is_directory":false,"size":3}],"path":"d/"})",
         "3  d/e/a\npath: d/"},
        {R"({"entries":[{"name":"a","path":"d/a","is_directory":false,"size":3}],"path":"d/"})", "3  a\npath: d/"},
        {R"({"success":true,"installed":["a==1.0","b==2.1"],"output":"Collecting a\n","exit_code":0})",
         "installed: a 1.0, b 2.1"},
        {R"({"success":true,"installed":[],"output":"Requirement already satisfied","exit_code":0})",
         "Nothing was missing: all that was asked for is installed."},
        {R"({"success":false,"installed":[],"output":"no such package","exit_code":1})",
         "no such package\nexit_code: 1"},
        {R"({"sandbox_id":"sbx_1","name":"a","status":"running","image":"native","created":"2026","last_used":"2026",)"
         R"("disk_bytes":0,"working_dir":"/workspace"})",
         "sandbox_id: sbx_1; name: a; working_dir: /workspace"},
        {R"({"sandboxes":[{"sandbox_id":"sbx_1","status":"stopped","packages":[{"name":"a","version":"1"}]}]})",
         "[sandboxes]\nsandbox_id: sbx_1; status: stopped; packages: a 1"},
        {R"({"content":"all","size":3,"modified":1795695599.2,"success":true})", "all"},
        {R"({"content":"some","size":30,"next_offset":4,"success":true})", "some\nsize: 30; next_offset: 4"},
        {R"({"content":"a.txt:1: x\n","matches":1,"files":1,"success":true})", "a.txt:1: x\nmatches: 1; files: 1"}};
    for (const auto& [structured, text] : rows) CHECK(result_text(parse(structured)) == text);
}

TEST_CASE("the text of a result names the files that a run has changed, and counts those of builds")
{
    const auto text = [](json::array files, int left_out = 0) {
        json::object run{{"stdout", "x\n"}, {"exit_code", 0}, {"file_links", files}, {"files", std::move(files)}};
        if (left_out != 0) run["files_left_out"] = left_out;
        return result_text(run);
    };
    CHECK(text({".displays/0001.html"}) == "x\n");
    CHECK(text({".displays/0001.html", "plot.png"}) == "x\nfiles: plot.png");
    CHECK(text({"dist/a.js", "dist/b.css"}) == "x\nfiles: dist/a.js, dist/b.css");
    CHECK(text({"a.c", "build/1.o", "build/2.o", "build/3.o", "build/4.o", "build/5.o", "build/6.o"}) ==
          "x\nfiles: a.c, build/1.o, build/2.o, build/3.o and 3 more");
    CHECK(text({"a", "b"}, 1337) == "x\nfiles: a, b and 1,337 more");
    json::array many;
    for (int i = 0; i < 90; ++i) many.emplace_back("results/measured-" + std::to_string(i) + ".csv");
    const auto shown = text(many);
    CHECK(shown.size() < 600);
    CHECK(shown.ends_with(" more"));
    CHECK(text({"a\nb"}) == "x\nfiles: \"a\\nb\"");
}

TEST_CASE("the text of a result says of bytes that are no text how many they are")
{
    std::string bytes;
    for (int i = 0; i < 300; ++i) bytes += "\xEF\xBF\xBDPK";
    const json::object run{
        {"stdout", bytes}, {"stderr", ""}, {"exit_code", 0}, {"binary_bytes", 1300}, {"output_path", ".outputs/a.txt"}};
    CHECK(result_text(run) == "(binary output, 1,300 bytes, in .outputs/a.txt)");
}

TEST_CASE("a large result is the same whether the pool makes it or not")
{
    json::array rows;
    for (int i = 0; i < 5000; ++i) rows.push_back(json::object{{"name", "row " + std::to_string(i)}, {"n", i}});
    const json::object sent{{"content", std::string(150'000, '\n')}, {"rows", rows}, {"max_output", 900'000}};
    std::vector<std::string> answers;
    for (const bool with_pool : {false, true}) {
        std::vector<std::string> saved;
        harness server(core_limits{.pool = with_pool ? std::make_shared<blocking_pool>(2) : nullptr});
        server.core.keep_results(std::make_unique<memory_keeper>(saved));
        add(server, "echo", echo);
        server.initialize("2025-11-25");
        auto narrow = sent;
        narrow["max_output"] = 70'000;
        for (const auto& arguments : {sent, narrow})
            answers.push_back(jsonrpc::write_json(server.request("tools/call", call_params("echo", arguments))));
        REQUIRE(saved.size() == 1);
        answers.push_back(saved.front());
    }
    REQUIRE(answers.size() == 6);
    for (std::size_t i = 0; i < 3; ++i) CHECK(answers[i] == answers[i + 3]);
    CHECK(answers[0].size() > 300'000);
}

TEST_CASE("a result is shortened in time linear in it, whatever it holds")
{
    const auto text = [](std::size_t size) { return json::object{{"a", std::string(size, '\x01')}, {"b", "c"}}; };
    const auto lists = [](std::size_t size) {
        json::object all;
        for (int i = 0; i < 20; ++i) {
            json::array list;
            for (std::size_t k = 0; k < size / 400; ++k) list.push_back(json::array{1, json::object{{"x", "\n\n"}}});
            all["list" + std::to_string(i)] = std::move(list);
        }
        return all;
    };
    const auto dictionary = [](std::size_t size) {
        json::object members;
        for (std::size_t i = 0; i < size / 20; ++i) members["member" + std::to_string(i)] = i;
        return members;
    };
    const auto shorten_it = [](const json::object& result) { shortened(result); };
    CHECK(growth(text, shorten_it, 1'000'000) < linear_growth);
    CHECK(growth(lists, shorten_it, 1'000'000) < linear_growth);
    CHECK(growth(dictionary, shorten_it, 400'000) < linear_growth);
}

TEST_CASE("a page of a list describes its own items alone")
{
    std::vector<std::size_t> described;
    const auto item = [&described](std::size_t i) {
        described.push_back(i);
        return json::value(i);
    };
    const auto first = page_of(1000, item, "things", {});
    CHECK(first.at("things").as_array().size() == page_size);
    CHECK(described.size() == page_size);
    const auto second = page_of(1000, item, "things", {{"cursor", first.at("nextCursor")}});
    CHECK(second.at("things").as_array().front() == page_size);
    CHECK(described.size() == 2 * page_size);
    CHECK_FALSE(page_of(3, item, "things", {}).contains("nextCursor"));
}
