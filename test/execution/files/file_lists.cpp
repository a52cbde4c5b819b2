#include "test/execution/files/file_support.hpp"

#include "files/glob.hpp"
#include "test/support/doubling.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::vector<std::string> paths_of(const file_page& page)
{
    std::vector<std::string> paths;
    for (const auto& entry : page.entries) paths.push_back(entry.path);
    return paths;
}

using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("file lists are sorted and say what each entry is")
{
    file_scene scene;
    scene.link(scene.base / "outside", "dirlink");
    REQUIRE(::mkfifo((scene.workspace / "fifo").c_str(), 0666) == 0);
    const auto page = scene.list({});
    REQUIRE(paths_of(page) == strings{"dirlink", "fifo", "hello.txt", "sub"});
    CHECK(page.entries[0].type == "symlink");
    CHECK(page.entries[1].type == "fifo");
    CHECK(page.entries[2].type == "file");
    CHECK(page.entries[2].size == 6u);
    CHECK(page.entries[3].type == "directory");
    CHECK_FALSE(page.entries[3].size);
    CHECK(page.next_cursor.empty());
    CHECK(paths_of(scene.list({"./sub/"})) == strings{"sub/inner.txt"});
    CHECK(paths_of(scene.list({"/sub"})) == strings{"sub/inner.txt"});
}

TEST_CASE("file lists do not leave the root, by path or by pattern")
{
    file_scene scene;
    scene.link(scene.base / "outside", "dirlink");
    for (const std::string& path : {std::string(".."), std::string("dirlink"), scene.base.string() + "/outside",
                                    std::string("hello.txt"), std::string("missing"), std::string("sub/../..")})
        CHECK(file_scene::refusal([&] { scene.list({path}); }) != "");
    for (const std::string& pattern :
         {std::string("../*"), scene.base.string() + "/outside/*", std::string("dirlink/*")})
        CHECK(paths_of(scene.list({".", pattern})).empty());
    CHECK(contains(file_scene::refusal([&] { scene.list({".", std::string("x\0y", 3)}); }), "pattern"));
    CHECK(contains(file_scene::refusal([&] { scene.list({"hello.txt"}); }), "file_read"));
}

TEST_CASE("file lists go down folder by folder, without following links")
{
    file_scene scene;
    scene.link(".", "sub/self");
    scene.link(scene.base / "outside", "sub/out");
    scene.put("sub.txt", "");
    fs::create_directory(scene.workspace / "sub/a");
    scene.put("sub/a/z.py", "");
    CHECK(paths_of(scene.list({"/", "", true})) ==
          strings{"hello.txt", "sub", "sub/a", "sub/a/z.py", "sub/inner.txt", "sub/out", "sub/self", "sub.txt"});
    CHECK(paths_of(scene.list({"/", "*.txt", true})) == strings{"hello.txt", "sub/inner.txt", "sub.txt"});
    CHECK(paths_of(scene.list({"/", "**/*.py"})) == strings{"sub/a/z.py"});
    CHECK(paths_of(scene.list({"sub", "a/*"})) == strings{"sub/a/z.py"});
    CHECK(paths_of(scene.list({"/", "*.txt"})) == strings{"hello.txt", "sub.txt"});
}

TEST_CASE("file lists come in pages that together hold every entry once, in order")
{
    file_scene scene;
    for (const char* folder : {"a", "a/b", "a-b", "a/b/c"}) fs::create_directory(scene.workspace / folder);
    for (const char* name : {"a/1", "a/b/2", "a-b/3", "a/b/c/4", "a.txt", "a/z"}) scene.put(name, "");
    const auto whole = paths_of(scene.list({"/", "", true}));
    for (std::size_t limit = 1; limit <= whole.size(); ++limit) {
        strings together;
        file_list_request what{"/", "", true, limit, ""};
        do {
            const auto page = scene.list(what);
            REQUIRE(page.entries.size() <= limit);
            for (const auto& path : paths_of(page)) together.push_back(path);
            what.cursor = page.next_cursor;
        } while (!what.cursor.empty());
        CHECK(together == whole);
    }
    CHECK(contains(file_scene::refusal([&] { scene.list({"/", "", false, 10, "!"}); }), "cursor"));
}

TEST_CASE("file lists leave out caches and what kernels keep where they are asked to, and count them")
{
    file_scene scene;
    for (const char* folder : {".cache", ".displays", ".kernel", ".kernel-2", "sub/.cache", ".config"}) {
        fs::create_directories(scene.workspace / folder);
        scene.put(std::string(folder) + "/a.txt", "");
    }
    const auto list = [&](file_list_request what) {
        what.without_noise = true;
        const auto page = scene.list(std::move(what));
        return std::pair(paths_of(page), page.left_out);
    };
    CHECK(list({"/"}) == std::pair(strings{".config", "hello.txt", "sub"}, std::size_t{4}));
    CHECK(list({"/", "*.txt", true}) ==
          std::pair(strings{".config/a.txt", "hello.txt", "sub/inner.txt"}, std::size_t{5}));
    CHECK(list({"/", "*.txt"}) == std::pair(strings{"hello.txt"}, std::size_t{0}));
    CHECK(list({".cache"}) == std::pair(strings{".cache/a.txt"}, std::size_t{0}));
    CHECK(list({"/", ".c*"}) == std::pair(strings{".cache", ".config"}, std::size_t{0}));
    CHECK(list({"/", "sub/.cache/*"}) == std::pair(strings{"sub/.cache/a.txt"}, std::size_t{0}));
    CHECK(scene.list({"/"}).entries.size() == 7);
}

TEST_CASE("file lists of 20,000 odd names are quick and come in small pages")
{
    file_scene scene;
    const unique_fd folder(::open(scene.workspace.c_str(), O_PATH | O_CLOEXEC));
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "f" + std::to_string(i) + "_\n\x1b[31m";
        unique_fd(::openat(folder.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto page = scene.list({".", "*"});
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    CHECK(page.entries.size() == 1000);
    CHECK_FALSE(page.next_cursor.empty());
}

TEST_CASE("file lists and removals cope with a tree of 2,500 levels")
{
    file_scene scene;
    unique_fd at(::open(scene.workspace.c_str(), O_PATH | O_CLOEXEC));
    for (int i = 0; i < 2500; ++i) {
        REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
        at = unique_fd(::openat(at.get(), "d", O_PATH | O_CLOEXEC));
        REQUIRE(at);
    }
    CHECK(scene.list({"d"}).entries.size() == 1);
    const auto page = scene.list({"/", "", true});
    CHECK(page.depth_limited);
    CHECK(page.entries.size() > 60);
    CHECK(contains(file_scene::refusal([&] { scene.remove("d"); }), "folder"));
}

TEST_CASE("file names that are no UTF-8 can be shown")
{
    CHECK(escape_invalid_utf8("a\xff\xfe"
                              "b✓\xe2\x9c") == "a\\xFF\\xFEb✓\\xE2\\x9C");
    CHECK(escape_invalid_utf8("\xed\xa0\x80") == "\\xED\\xA0\\x80");
    CHECK(escape_invalid_utf8("plain\n") == "plain\n");
    file_scene scene;
    scene.put("\xff\xfe", "");
    CHECK(paths_of(scene.list({"/", "\xff*"})) == strings{"\xff\xfe"});
}

TEST_CASE("file patterns match as a shell's do")
{
    struct sample {
        const char* pattern;
        const char* text;
        bool matches;
    };
    for (const sample& s : std::initializer_list<sample>{{"*", "", true},
                                                         {"*", "abc", true},
                                                         {"*", "a/b", false},
                                                         {"**", "a/b", true},
                                                         {"a*c", "abbc", true},
                                                         {"a*c", "ab", false},
                                                         {"?", "✓", true},
                                                         {"?", "", false},
                                                         {"?", "/", false},
                                                         {"[a-c]x", "bx", true},
                                                         {"[!a-c]x", "bx", false},
                                                         {"[!a-c]x", "dx", true},
                                                         {"[]]", "]", true},
                                                         {"[", "[", true},
                                                         {"[a", "[a", true},
                                                         {"\\*", "*", true},
                                                         {"\\*", "a", false},
                                                         {"**/x", "x", true},
                                                         {"**/x", "a/b/x", true},
                                                         {"**/x", "abx", false},
                                                         {"a/**/x", "a/x", true},
                                                         {"a/**/x", "a/b/c/x", true},
                                                         {"a/**/x", "ax", false},
                                                         {"**/**/x", "x", true},
                                                         {"a**/b", "axx/y/b", true},
                                                         {"***/x", "x", true},
                                                         {"", "", true},
                                                         {"", "a", false},
                                                         {"*.py", ".py", true},
                                                         {"A", "a", false}}) {
        INFO(s.pattern << " on " << s.text);
        CHECK(glob(s.pattern).matches(s.text) == s.matches);
    }
}

TEST_CASE("file patterns know braces, classes and negation")
{
    struct sample {
        const char* pattern;
        const char* path;
        bool fits;
    };
    for (const sample& s : std::initializer_list<sample>{{"*.{yaml,yml}", "deep/down/x.yml", true},
                                                         {"*.{yaml,yml}", "x.yamlx", false},
                                                         {"{a,b{c,d}}.txt", "bd.txt", true},
                                                         {"{a,b{c,d}}.txt", "b.txt", false},
                                                         {"{src,test}/**/*.py", "test/a/b.py", true},
                                                         {"{src,test}/**/*.py", "test/b.py", true},
                                                         {"{src,test}/**/*.py", "docs/b.py", false},
                                                         {"{*.md,src/*.py}", "docs/a.md", true},
                                                         {"{*.md,src/*.py}", "docs/a.py", false},
                                                         {"{,x}y", "y", true},
                                                         {"{a}", "{a}", true},
                                                         {"{a,b", "{a,b", true},
                                                         {"\\{a,b\\}", "{a,b}", true},
                                                         {"!*.log", "a/b.txt", true},
                                                         {"!*.log", "a/b.log", false},
                                                         {"!*.{log,tmp}", "b.tmp", false},
                                                         {"!", "!", true},
                                                         {"\\!x", "!x", true},
                                                         {"v[[:digit:]]", "v7", true},
                                                         {"v[![:digit:]_]", "v_", false},
                                                         {"[[:upper:]]*", "readme", false},
                                                         {"./*.txt", "a.txt", true},
                                                         {"/*.txt", "sub/a.txt", false},
                                                         {"src/", "src/a/b", true}}) {
        INFO(s.pattern << " on " << s.path);
        CHECK(glob(s.pattern).finds(s.path) == s.fits);
    }
    std::string many;
    for (int i = 0; i < 12; ++i) many += "{a,b}";
    CHECK_THROWS_AS(glob(many), file_error);
}

TEST_CASE("file patterns take no longer for hostile stars")
{
    const auto begin = std::chrono::steady_clock::now();
    CHECK(glob(std::string(20'000, '*')).matches("anything/at all"));
    std::string stars;
    for (int i = 0; i < 90; ++i) stars += "*a";
    CHECK_FALSE(glob(stars + "b").matches(std::string(4000, 'a')));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
    CHECK_THROWS_AS(glob(std::string(20'000, '?')), file_error);
}

TEST_CASE("file patterns take time linear in the name, whatever they hold")
{
    std::string stars, deep, sets;
    for (int i = 0; i < 60; ++i) stars += "*a", sets += "*[!b-y0-9]";
    for (int i = 0; i < 30; ++i) deep += "**/";
    for (const auto& pattern :
         {stars + "b", deep + "*a*b", sets + "b", "{" + stars + "b," + stars + "c," + deep + "x}"}) {
        CAPTURE(pattern);
        const glob wanted(pattern);
        const auto names = [](std::size_t size) {
            std::string name;
            for (std::size_t i = 0; i < size; ++i) name += i % 50 == 49 ? '/' : 'a';
            return name;
        };
        CHECK(growth(
                  names, [&wanted](const std::string& name) { wanted.matches(name); }, 40'000) < linear_growth);
    }
}

TEST_CASE("folders in a row that may be any are one")
{
    for (const auto* path : {"x", "a/x", "a/b/c/x"}) CHECK(glob("**/**/**/x").matches(path));
    CHECK_FALSE(glob("**/**/x").matches("ax"));
    CHECK(glob("a/**/**/b").matches("a/b"));
    CHECK(glob("**/**").matches("a/b"));
    CHECK(glob("[é-ü]*").matches("ö/" + std::string()) == false);
    CHECK(glob("[é-ü]?").matches("öx"));
}

TEST_CASE("a pattern is refused before it takes long to read")
{
    CHECK_THROWS_AS(glob(std::string(10'000, '{')), file_error);
    CHECK_THROWS_AS(glob("{" + std::string(40'000, ',') + "}"), file_error);
    std::string sets;
    for (int i = 0; i < 60; ++i) sets += "[" + std::string(100, 'a') + "]";
    CHECK_THROWS_AS(glob(sets), file_error);
}

TEST_CASE("a list of very many names is made slice by slice, and is the same")
{
    const file_scene scene;
    for (int i = 0; i < 500; ++i) scene.put("name" + std::to_string(i) + ".txt", "");
    const file_list_request request{.pattern = "*1*.txt", .limit = 1000};
    auto work = list_folder([&scene] { return scene.workspace; }, request);
    std::optional<file_page> page;
    int slices = 0;
    for (; !page; ++slices) page = work(slice_end());  // each slice is over at once
    CHECK(slices > 3);
    const auto whole_page = scene.list(request);
    REQUIRE(page->entries.size() == whole_page.entries.size());
    for (std::size_t i = 0; i < page->entries.size(); ++i) CHECK(page->entries[i].path == whole_page.entries[i].path);
}

TEST_CASE("a list holds those entries alone that are wanted")
{
    const file_scene scene;
    for (int i = 0; i < 30; ++i) scene.put(std::to_string(i) + (i % 3 == 0 ? ".txt" : ".bin"), "");
    file_list_request request{.limit = 5};
    request.fits = [](const file_entry& entry) { return entry.name.ends_with(".txt"); };
    const auto page = scene.list(request);
    CHECK(page.entries.size() == 5);
    CHECK_FALSE(page.next_cursor.empty());
    for (const auto& each : page.entries) CHECK(each.name.ends_with(".txt"));
}

TEST_CASE("a folder that its permissions close is not listed, and a list that goes down says so")
{
    const file_scene scene;
    fs::create_directories(scene.workspace / "open/below");
    fs::create_directories(scene.workspace / "closed/below");
    scene.put("closed/below/name", "");
    scene.put("open/below/name", "");
    fs::permissions(scene.workspace / "closed", fs::perms::none);
    const auto refusal = file_scene::refusal([&] { scene.list({.path = "closed"}); });
    const auto page = scene.list({.path = ".", .recursive = true});
    fs::permissions(scene.workspace / "closed", fs::perms::owner_all);
    CHECK(refusal.find("permissions") != std::string::npos);
    CHECK(page.closed_folder == "closed");
    for (const auto& each : page.entries) CHECK_FALSE(each.path.starts_with("closed/"));
    const auto is_open = [](const auto& each) { return each.path.starts_with("open"); };
    CHECK(std::ranges::count_if(page.entries, is_open) == 3);
    CHECK(scene.list({.path = ".", .recursive = true}).closed_folder.empty());
}
