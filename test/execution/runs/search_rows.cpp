#include "runs/search_rows.hpp"
#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;

namespace {

std::string printed(std::string_view path, std::string_view rest)
{
    return std::string(path) + '\0' + std::string(rest) + '\n';
}

bool any_file(std::string_view) { return true; }

const std::string two_groups = printed("./b.txt", "3-before") + printed("./b.txt", "4:hit") +
                               printed("./b.txt", "5:again") + printed("./b.txt", "6-behind") + "--\n" +
                               printed("./b.txt", "9:last") + "--\n" + printed("./a:1.txt", "1:first: yes");

}  // namespace

TEST_CASE("matches are read with the lines around them, file by file in order")
{
    const auto page = page_of(read_search(two_groups, any_file), 0, 100, 10'000);
    CHECK(page.matches == 4);
    CHECK(page.files == 2);
    CHECK(page.shown == 4);
    CHECK(page.text ==
          "a:1.txt:1: first: yes\n--\nb.txt-3- before\nb.txt:4: hit\nb.txt:5: again\nb.txt-6- behind\n--\nb.txt:9: "
          "last\n");
}

TEST_CASE("pages of matches follow each other without a gap or a repetition")
{
    const auto files = read_search(two_groups, any_file);
    std::string all;
    for (std::size_t offset = 0; offset < 4;) {
        const auto page = page_of(files, offset, 1, 10'000);
        CHECK(page.matches == 4);
        REQUIRE(page.shown == 1);
        all += page.text;
        offset += page.shown;
    }
    CHECK(all ==
          "a:1.txt:1: first: yes\nb.txt-3- before\nb.txt:4: hit\nb.txt:5: again\nb.txt-6- behind\nb.txt:9: last\n");
    CHECK(page_of(files, 4, 1, 10'000).text.empty());
    const auto small = page_of(files, 0, 100, 30);
    CHECK(small.shown == 1);
    CHECK(small.matches == 4);
}

TEST_CASE("files that are not wanted, messages and a cut last line are left out")
{
    const auto hits =
        printed("x/a.py", "1:one") + "some message\n" + printed("x/b.js", "2:two") + std::string("x/c.py\0 3:thr", 13);
    const auto files = read_search(hits, [](std::string_view path) { return path.ends_with(".py"); });
    REQUIRE(files.size() == 1);
    CHECK(page_of(files, 0, 10, 1000).text == "x/a.py:1: one\n");
    CHECK(read_search("", any_file).empty());
    CHECK(read_search(std::string("a\0b:c\na\0\n", 9), any_file).empty());
}

TEST_CASE("a long line is shown around its match where the search tells the column")
{
    const std::string line =
        std::string(3000, 'x') + "\xc3\xa9" + std::string(99, 'y') + "WORD" + std::string(3000, 'z');
    const auto column = std::to_string(line.find("WORD") + 1);
    const auto files = read_search(printed("a", "7:" + column + ":" + line) + printed("a", "8-" + line) +
                                       printed("a", "9:1:short: 5") + printed("b", "2:3999:" + std::string(4000, 'w')),
                                   any_file, true);
    const auto page = page_of(files, 0, 10, 10'000);
    CHECK(page.text.find("a:7: … " + std::string(99, 'y') + "WORD" + std::string(297, 'z') + " …\n") !=
          std::string::npos);
    CHECK(page.text.find("a-8- " + std::string(400, 'x') + " …\n") != std::string::npos);
    CHECK(page.text.find("a:9: short: 5\n") != std::string::npos);
    CHECK(page.text.find("b:2: … " + std::string(102, 'w') + "\n") != std::string::npos);
}

TEST_CASE("long lines are cut, and bytes that are no text are shown as such")
{
    const auto files = read_search(printed("a\xff", "7:" + std::string(5000, 'x')) + printed("b",
                                                                                             "8:\xff"
                                                                                             "caf\xc3\xa9\r"),
                                   any_file);
    const auto page = page_of(files, 0, 10, 10'000);
    CHECK(page.text.find("b:8: \xEF\xBF\xBD"
                         "caf\xc3\xa9\n") != std::string::npos);
    CHECK(page.text.find("a\\xFF:7: " + std::string(400, 'x') + " …\n") != std::string::npos);
}
