#include "files/file_error.hpp"
#include "runs/file_searcher.hpp"
#include "test/program/tools/sandbox_support.hpp"
#include "test/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct file_search_stage : sandbox_stage {
    explicit file_search_stage(bool ripgrep) : searcher(all->backend, *all->admission, *all->pool, ripgrep)
    {
        put("src/one.py", "import os\ndef first_test():\n    return 'caf\xc3\xa9'\n");
        put("src/two.js", "function second_test() {\n}\n");
        put("notes.md", "First_Test and more\r\n");
        put("we:ird-1.md", "a first_test\n");
        put(".git/config", "first_test\n");
        put("src/node_modules/lib.js", "first_test\n");
        put("src/data.bin", std::string("first_test\0\n", 12));
    }

    void put(const std::string& name, const std::string& bytes)
    {
        fs::create_directories((workspace() / name).parent_path());
        std::ofstream(workspace() / name, std::ios::binary) << bytes;
    }

    file_matches search(file_search_request what)
    {
        return run_coroutine(io, searcher.search("", workspace(), std::move(what), 20'000), std::chrono::seconds(60));
    }

    std::string refusal(file_search_request what)
    {
        try {
            search(std::move(what));
        } catch (const file_error& refused) {
            return refused.what();
        }
        return {};
    }

    file_searcher searcher;
};

// Both where both are installed.
std::vector<bool> engines()
{
    if (file_searcher::has_ripgrep()) return {false, true};
    WARN("not tested: the package ripgrep is not installed");
    return {false};
}

}  // namespace

TEST_CASE("a search finds the lines of text files, and leaves out what others wrote")
{
    for (const bool ripgrep : engines()) {
        INFO("ripgrep: " << ripgrep);
        file_search_stage s(ripgrep);
        const auto page = s.search({.pattern = "\\w+_test\\b"});
        CHECK(page.text ==
              "src/one.py:2: def first_test():\nsrc/two.js:1: function second_test() {\nwe:ird-1.md:1: a first_test\n");
        CHECK(page.matches == 3);
        CHECK(page.files == 3);
        CHECK(page.note.empty());
        CHECK(s.search({.pattern = "first_test", .ignore_case = true}).matches == 3);
        CHECK(s.search({.pattern = "first_test", .everything = true}).files == 4);
        CHECK(s.search({.pattern = "first_test", .path = "src/node_modules"}).text ==
              "src/node_modules/lib.js:1: first_test\n");
        CHECK(s.search({.pattern = "caf\xc3\xa9", .path = "src/one.py", .context = 1}).text ==
              "src/one.py-2- def first_test():\nsrc/one.py:3:     return 'caf\xc3\xa9'\n");
        CHECK(s.search({.pattern = "(?<=def )first"}).matches == 1);
        CHECK(s.search({.pattern = "(s)econd_te\\1t"}).matches == 1);
        CHECK(s.search({.pattern = "nowhere"}).matches == 0);
    }
}

TEST_CASE("a search goes by names and paths of files")
{
    for (const bool ripgrep : engines()) {
        INFO("ripgrep: " << ripgrep);
        file_search_stage s(ripgrep);
        const auto files = [&s](std::string glob, std::string path = ".") {
            return s.search({.pattern = "_test", .path = std::move(path), .glob = std::move(glob)}).files;
        };
        CHECK(files("*.py") == 1);
        CHECK(files("*.{py,js}") == 2);
        CHECK(files("src/*.js") == 1);
        CHECK(files("**/*.js") == 1);
        CHECK(files("two.*", "src") == 1);
        CHECK(files("**/two.js", "src") == 1);
        CHECK(files("*.txt") == 0);
    }
}

TEST_CASE("a search that cannot be made says why")
{
    for (const bool ripgrep : engines()) {
        INFO("ripgrep: " << ripgrep);
        file_search_stage s(ripgrep);
        CHECK(s.refusal({.pattern = "("}).find("pattern cannot be searched") == 0);
        CHECK(s.refusal({.pattern = ""}).find("pattern is empty") == 0);
        CHECK(s.refusal({.pattern = "a\nb"}).find("line feed") != std::string::npos);
        CHECK(s.refusal({.pattern = "a", .path = "none"}).find("none") != std::string::npos);
        CHECK(s.refusal({.pattern = "a", .path = "../.."}).find("leads out") != std::string::npos);
        CHECK(s.search({.pattern = "-e", .path = "notes.md"}).matches == 0);
        CHECK(s.search({.pattern = "--files"}).matches == 0);
    }
}

TEST_CASE("an expression that takes for ever ends, and the next search works")
{
    for (const bool ripgrep : engines()) {
        INFO("ripgrep: " << ripgrep);
        file_search_stage s(ripgrep);
        s.put("trap.txt", std::string(4000, 'a') + "b\n");
        const auto began = std::chrono::steady_clock::now();
        const auto said = s.refusal({.pattern = "(?=a)(a+a+)+$", .path = "trap.txt"});
        CHECK((said.empty() || said.find("backtracking limit") != std::string::npos));
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(40));
        CHECK(s.search({.pattern = "first_test"}).matches == 2);
    }
}

TEST_CASE("file_search pages through matches, in the workspace and in a sandbox")
{
    file_search_stage s(file_searcher::has_ripgrep());
    std::string lines;
    for (int i = 0; i < 250; ++i) lines += "number " + std::to_string(i) + "\n";
    s.put("many.txt", lines);
    std::size_t seen = 0;
    for (std::size_t offset = 0, pages = 0; pages == 0 || offset != 0; ++pages) {
        const auto page =
            s.tool("file_search", {{"pattern", "^number"}, {"offset", static_cast<std::int64_t>(offset)}});
        CHECK(page.at("matches") == 250);
        seen += static_cast<std::size_t>(std::ranges::count(text(page, "content"), '\n'));
        const auto* next = page.if_contains("next_offset");
        offset = next ? next->to_number<std::size_t>() : 0;
    }
    CHECK(seen == 250);
    const auto id = s.create();
    s.tool("file_write", {{"sandbox_id", id}, {"path", "app/a.rs"}, {"content", "fn found() {}\n"}});
    CHECK(text(s.tool("file_search", {{"sandbox_id", id}, {"pattern", "fn \\w+"}}), "content") ==
          "app/a.rs:1: fn found() {}\n");
    CHECK(text(s.tool("file_search", {{"sandbox_id", id}, {"pattern", "number"}}), "note") == "No line matches.");
    CHECK(text(s.as("somebody", "file_search", {{"sandbox_id", id}, {"pattern", "fn"}}), "error_type") == "NotFound");
}

TEST_CASE("an end of line is one on Windows, too, for both programs")
{
    for (const bool ripgrep : engines()) {
        file_search_stage stage(ripgrep);
        stage.put("win.txt", "alpha\r\nbeta price$\r\nalphabet\r\n");
        stage.put("unix.txt", "alpha\nbeta\n");
        INFO((ripgrep ? "ripgrep" : "grep"));
        CHECK(stage.search({"alpha$"}).matches == 2);
        CHECK(stage.search({"^(alpha|beta)$"}).matches == 3);
        CHECK(stage.search({"(?<!x)alpha$"}).matches == 2);
        CHECK(stage.search({"price\\$$"}).matches == 1);
        CHECK(stage.search({"[$]$"}).matches == 1);
        CHECK(stage.search({"[]$]"}).matches == 1);
        CHECK(stage.search({"alpha$"}).text.find('\r') == std::string::npos);
    }
}

TEST_CASE("a pattern of files is the same for both programs as for lists")
{
    for (const bool ripgrep : engines()) {
        file_search_stage stage(ripgrep);
        INFO((ripgrep ? "ripgrep" : "grep"));
        for (const auto* name : {"a1.log", "a2.txt", "deep/b3.txt", "deep/down/c.tar.gz"}) stage.put(name, "zebra\n");
        const auto files = [&stage](const char* glob) {
            return stage.search({.pattern = "zebra", .glob = glob}).files;
        };
        CHECK(files("*.{txt,log}") == 3);
        CHECK(files("!*.log") == 3);
        CHECK(files("!*.{txt,log}") == 1);
        CHECK(files("{deep,other}/**/*.{txt,tar.gz}") == 2);
        CHECK(files("[ab][[:digit:]].*") == 3);
        CHECK(files("[!a]*.txt") == 1);
        CHECK(files("./*.txt") == 1);
        CHECK(files("deep/") == 2);
        CHECK(files("nothing") == 0);
    }
}
