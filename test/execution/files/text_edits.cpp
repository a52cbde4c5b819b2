#include "files/text_edits.hpp"
#include "files/file_error.hpp"
#include "files/unified_diff.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"
#include "text/utf8_text.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string edited(std::string text, const std::vector<text_edit>& edits)
{
    return with_edits(std::move(text), edits).text;
}

std::string refusal(std::string text, const std::vector<text_edit>& edits)
{
    try {
        with_edits(std::move(text), edits);
    } catch (const file_error& refused) {
        return refused.what();
    }
    return {};
}

bool says(const std::string& sentence, std::string_view words)
{
    INFO(sentence);
    CHECK(sentence.find(words) != std::string::npos);
    return sentence.find(words) != std::string::npos;
}

std::string numbered(int count)
{
    std::string text;
    for (int i = 1; i <= count; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
}

}  // namespace

TEST_CASE("edits are applied in order, each to what the ones before it made")
{
    CHECK(edited("a b c", {{"b", "x"}, {"x c", "y"}}) == "a y");
    CHECK(edited("aaa", {{"a", "b", true}}) == "bbb");
    CHECK(edited("aaaa", {{"aa", "b", true}}) == "bb");
    CHECK(edited("one\ntwo\n", {{"one\n", ""}}) == "two\n");
    CHECK(with_edits("a-a-a b", {{"a", "c", true}, {"b", "d"}}).replaced == 4);
    CHECK(edited("\xff binary-like \xfe", {{"like", "ish"}}) == "\xff binary-ish \xfe");
}

TEST_CASE("a file keeps its line endings, whichever the edit has")
{
    CHECK(edited("one\r\ntwo\r\n", {{"one\ntwo", "1\n2\n3"}}) == "1\r\n2\r\n3\r\n");
    CHECK(edited("one\r\ntwo\r\n", {{"one\r\ntwo", "1\r\n2"}}) == "1\r\n2\r\n");
    CHECK(edited("one\ntwo\n", {{"one\r\ntwo", "1\r\n2"}}) == "1\n2\n");
    CHECK(edited("one\r\ntwo\n", {{"two\n", "2\n"}}) == "one\r\n2\n");
    CHECK(says(refusal("one\r\ntwo\nthree", {{"one\ntwo", "1"}}), "line endings only, at line 1"));
}

TEST_CASE("an edit that could mean several places is refused with their lines")
{
    CHECK(says(refusal("x\ny\nx\n", {{"x", "z"}}), "edits[0]: old_text is found 2 times, in lines 1, 3:"));
    CHECK(says(refusal("a\n" + numbered(30), {{"a", "b"}, {"line", "row"}}),
               "edits[1]: old_text is found 30 times, in lines 2, 3"));
    CHECK(says(refusal(numbered(30), {{"line", "row"}}), "and 20 more"));
}

TEST_CASE("an edit that does not fit says where it nearly would")
{
    const std::string code = "def f(x):\n    if x:\n        return 1\n    return 2\n";
    CHECK(says(refusal(code, {{"  if x:\n      return 1", "pass"}}), "white space only, at line 2: `    if x:`"));
    CHECK(says(refusal(code, {{"\treturn 2", "pass"}}), "white space only, at line 4"));
    CHECK(says(refusal(code, {{"    if x:\n        return 7\n", "pass"}}),
               "begins as line 2 does, but line 3 is `        return 1` and not `        return 7`"));
    CHECK(says(refusal(code, {{"retrun 2", "pass"}}), "nearest line is 4: `    return 2`"));
    CHECK(says(refusal(code, {{"zzzz", "pass"}}), "No line is like it"));
    CHECK(says(refusal("", {{"zzzz", "pass"}}), "The file is empty"));
    CHECK(says(refusal("a\nb", {{"b\nc", "d"}}), "the file ends with line 2"));
}

TEST_CASE("an edit without a meaning is refused")
{
    CHECK(says(refusal("a", {{"", "b"}}), "edits[0]: old_text is empty"));
    CHECK(says(refusal("a", {{"a", "a"}}), "are the same"));
    CHECK(says(refusal("a", {}), "at least one"));
}

TEST_CASE("the place that comes nearest is found in a long text at once")
{
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += "some words that stand in line " + std::to_string(i) + " of many\n";
    CHECK(says(nearest_match(text, "some wrods in a lien"), "nearest line is "));
}

TEST_CASE("a diff is that of diff -u")
{
    CHECK(unified_diff("a\n", "a\n", "f").empty());
    CHECK(unified_diff(numbered(9), edited(numbered(9), {{"line 5", "row 5"}}), "f") ==
          "--- f\n+++ f\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+row 5\n line 6\n line 7\n line 8\n");
    CHECK(unified_diff("a", "b", "f", [](std::string_view) { return std::string("hidden"); }) ==
          "--- f\n+++ f\n@@ -1 +1 @@\n-hidden\n\\ No newline at end of file\n+hidden\n\\ No newline at end of file\n");
    CHECK(unified_diff("", "a\n", "f") == "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n");
    CHECK(unified_diff("a\n", "", "f") == "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
    CHECK(unified_diff("a", "a\n", "f") == "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    CHECK(unified_diff("a\r\nb\r\n", "a\r\nc\r\n", "f") == "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    const auto twice =
        unified_diff(numbered(30), edited(numbered(30), {{"line 2\n", ""}, {"line 28\n", "line 28\nnew\n"}}), "f");
    CHECK(twice ==
          "--- f\n+++ f\n@@ -1,5 +1,4 @@\n line 1\n-line 2\n line 3\n line 4\n line 5\n"
          "@@ -26,5 +25,6 @@\n line 26\n line 27\n line 28\n+new\n line 29\n line 30\n");
}

TEST_CASE("the beginning of a diff says from which line on the file shows the rest")
{
    const auto diff =
        unified_diff(numbered(30), edited(numbered(30), {{"line 2\n", ""}, {"line 28\n", "line 28\nnew\n"}}), "f");
    CHECK(beginning_of_diff(diff, diff.size()) == diff);
    const auto at = [&](std::string_view line) { return diff.find(line); };
    CHECK(beginning_of_diff(diff, at("+new\n")) ==
          diff.substr(0, at("+new\n")) + "… 3 more lines; file_read with line 28 shows the file from there on.\n");
    CHECK(beginning_of_diff(diff, at(" line 30\n") + 3)
              .ends_with(" line 29\n… 1 more lines; file_read with line 30 shows the file from there on.\n"));
    CHECK(beginning_of_diff(diff, at("@@ -26"))
              .ends_with(" line 5\n… 7 more lines; file_read with line 5 shows the file from there on.\n"));
    const auto emptied = unified_diff(numbered(9), "", "f");
    CHECK(beginning_of_diff(emptied, 40).ends_with("file_read with line 1 shows the file from there on.\n"));
}

TEST_CASE("a diff of texts that differ everywhere is one change")
{
    std::string before, after;
    for (int i = 0; i < 3000; ++i) {
        before += "a" + std::to_string(i) + "\n";
        after += "b" + std::to_string(i) + "\n";
    }
    const auto diff = unified_diff("same\n" + before, "same\n" + after, "f");
    CHECK(diff.starts_with("--- f\n+++ f\n@@ -1,3001 +1,3001 @@\n same\n-a0\n-a1\n"));
    CHECK(diff.ends_with("+b2998\n+b2999\n"));
}

TEST_CASE("a diff shows long lines around what differs")
{
    const std::string low(3000, 'a'), high(3000, 'b');
    const auto beside = unified_diff(low + "\nend\n", low + "\nEND\n", "f");
    CHECK(beside.size() < 800);
    CHECK(beside.find("(3000 bytes)") != std::string::npos);
    CHECK(beside.find("-end\n+END\n") != std::string::npos);
    const auto within = unified_diff(low + "old" + high + "\n", low + "new" + high + "\n", "f");
    CHECK(within.size() < 1500);
    CHECK(within.find("aaaoldbbb") != std::string::npos);
    CHECK(within.find("aaanewbbb") != std::string::npos);
    const std::string wide = [] {
        std::string text;
        for (int i = 0; i < 1000; ++i) text += "\xe2\x9c\x93";
        return text;
    }();
    CHECK(is_utf8(unified_diff(wide + "1" + wide + "\n", wide + "2" + wide + "\n", "f")));
    std::string left, right;
    for (int i = 0; i < 3000; ++i) {
        left += low.substr(0, 500) + std::to_string(i) + "\n";
        right += high.substr(0, 500) + std::to_string(i) + "\n";
    }
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(unified_diff(left, right, "f").empty());
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("edits and what is said of them take time linear in the text, whatever it holds")
{
    const auto same = [](std::size_t size) { return std::string(size, 'a'); };
    const auto lines = [](std::size_t size) {
        std::string text;
        for (std::size_t i = 0; i < size / 2; ++i) text += i % 7 == 6 ? "b\n" : "a\n";
        return text;
    };
    // Nearly found at every place.
    const auto edit = [](const std::string& text) {
        try {
            with_edits(text, {{text.substr(0, text.size() / 2) + "x", "y"}});
        } catch (const file_error&) {
        }
    };
    CHECK(growth(same, edit, 400'000) < linear_growth);
    CHECK(growth(lines, edit, 200'000) < linear_growth);
    const auto nearest = [](const std::string& text) { nearest_match(text, text.substr(0, text.size() / 2) + "x\n"); };
    CHECK(growth(lines, nearest, 200'000) < linear_growth);
    const auto blank = [](std::size_t size) { return std::string(size, '\n'); };
    CHECK(growth(blank, nearest, 200'000) < linear_growth);
}

TEST_CASE("the nearest place is the one that goes on longest, wherever it begins")
{
    const std::string text = "one\ntwo\nthree\none\ntwo\nfour\nfive\n";
    CHECK(nearest_match(text, "one\ntwo\nfour\nsix\n").find("line 7 is `five` and not `six`") != std::string::npos);
    CHECK(nearest_match(text, "one\ntwo\nthree\ntwo\n").find("line 4 is `one` and not `two`") != std::string::npos);
    CHECK(nearest_match("x one\ntwo\n", "one\ntoo\n").find("line 2 is `two`") != std::string::npos);
    CHECK(nearest_match("a\nb\n", "b\nc\nd").find("the file ends") == std::string::npos);
}

TEST_CASE("a comparison of texts takes time linear in long lines")
{
    const auto long_lines = [](std::size_t size) {
        std::pair<std::string, std::string> texts;
        for (int i = 0; i < 200; ++i) {
            texts.first += std::string(size / 200, 'a') + std::to_string(i) + "\n";
            texts.second += std::string(size / 200, 'a') + std::to_string(i + 1000) + "\n";
        }
        return texts;
    };
    const auto compare = [](const auto& texts) { unified_diff(texts.first, texts.second, "a"); };
    CHECK(growth(long_lines, compare, 4'000'000) < linear_growth);
}
