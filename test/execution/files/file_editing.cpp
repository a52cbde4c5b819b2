#include "files/file_edit.hpp"
#include "test/execution/files/file_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

edited_file prepare(const file_scene& scene, std::string path, std::string before, std::string after,
                    std::string encoding = {})
{
    return prepare_edit(scene.root(), scene.policy,
                        {std::move(path), {{std::move(before), std::move(after)}}, std::move(encoding)});
}

void edit(const file_scene& scene, std::string path, std::string before, std::string after, std::string encoding = {})
{
    prepare(scene, std::move(path), std::move(before), std::move(after), std::move(encoding)).publish();
}

template <class Work>
std::string refusal_of(Work work)
{
    try {
        work();
    } catch (const file_error& refused) {
        return refused.what();
    }
    return {};
}

bool has(const std::string& text, std::string_view words)
{
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
    return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("an edited file takes the place of the one that was read, with its mode")
{
    file_scene scene;
    scene.put("run.txt", "old line\n");
    REQUIRE(::chmod((scene.workspace / "run.txt").c_str(), 0755) == 0);
    const auto edited = prepare(scene, "run.txt", "old", "new");
    CHECK(scene.get("run.txt") == "old line\n");
    edited.publish();
    CHECK(scene.get("run.txt") == "new line\n");
    CHECK(scene.mode("run.txt") == 0755);
    CHECK(edited.replaced == 1);
    CHECK(edited.diff == "--- run.txt\n+++ run.txt\n@@ -1 +1 @@\n-old line\n+new line\n");
    CHECK(scene.count_in() == 3);
}

TEST_CASE("an edit is refused when the file has changed since it was read")
{
    file_scene scene;
    const auto edited = prepare(scene, "hello.txt", "hello", "hi");
    const auto other = prepare(scene, "hello.txt", "hello", "good day");
    edited.publish();
    CHECK_THROWS_AS(other.publish(), file_changed);
    CHECK(scene.get("hello.txt") == "hi\n");
    const auto written = prepare(scene, "hello.txt", "hi", "good day");
    scene.put("hello.txt", "somebody was here\n");
    CHECK(has(refusal_of([&] { written.publish(); }), "was changed by somebody else meanwhile; read it again"));
    const auto deleted = prepare(scene, "hello.txt", "somebody", "nobody");
    scene.remove("hello.txt");
    CHECK_THROWS_AS(deleted.publish(), file_changed);
    CHECK(scene.count_in() == 1);
}

TEST_CASE("an edit keeps the encoding of a file")
{
    file_scene scene;
    scene.put("bom.txt", "\xEF\xBB\xBFna\xC3\xAFve\n");
    edit(scene, "bom.txt", "na\xC3\xAFve", "clever");
    CHECK(scene.get("bom.txt") ==
          "\xEF\xBB\xBF"
          "clever\n");
    scene.put("wide.txt", std::string("\xFF\xFE"
                                      "a\0b\0",
                                      6));
    edit(scene, "wide.txt", "b", "c\xC3\xA4");
    CHECK(scene.get("wide.txt") == std::string("\xFF\xFE"
                                               "a\0c\0\xE4\0",
                                               8));
    scene.put("latin.txt", "caf\xE9\n");
    CHECK(has(refusal_of([&] { edit(scene, "latin.txt", "caf", "th"); }), "is no UTF-8 text; name its encoding"));
    edit(scene, "latin.txt", "caf\xC3\xA9", "th\xC3\xA9", "latin-1");
    CHECK(scene.get("latin.txt") == "th\xE9\n");
    CHECK(has(refusal_of([&] { edit(scene, "latin.txt", "th", "\xE2\x82\xAC", "latin-1"); }), "does not exist"));
}

TEST_CASE("what is no file of text is not edited")
{
    file_scene scene;
    scene.put("binary.txt", std::string("a\0b", 3));
    CHECK(has(refusal_of([&] { edit(scene, "binary.txt", "a", "c"); }), "is a binary file"));
    scene.put("other.txt", std::string("\x89PNG\r\n\x1A\n\0\0", 10));
    CHECK(has(refusal_of([&] { edit(scene, "other.txt", "PNG", "GIF"); }), "is a binary file"));
    scene.link("hello.txt", "link.txt");
    CHECK(has(refusal_of([&] { edit(scene, "link.txt", "hello", "hi"); }), "is a symbolic link"));
    scene.link("../outside/secret.txt", "out.txt");
    CHECK_FALSE(refusal_of([&] { edit(scene, "out.txt", "CANARY", "x"); }).empty());
    CHECK(has(refusal_of([&] { edit(scene, "sub", "a", "b"); }), "is a folder"));
    CHECK(has(refusal_of([&] { edit(scene, "none.txt", "a", "b"); }), "none.txt"));
    CHECK_FALSE(refusal_of([&] { edit(scene, "../outside/secret.txt", "CANARY", "x"); }).empty());
    REQUIRE(::chmod((scene.workspace / "hello.txt").c_str(), 0444) == 0);
    CHECK(has(refusal_of([&] { edit(scene, "hello.txt", "hello", "hi"); }), "is read-only"));
    CHECK(scene.get("hello.txt") == "hello\n");
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("an edit that does not fit changes nothing")
{
    file_scene scene;
    const file_edit_request request{"hello.txt", {{"hello", "hi"}, {"not there", "x"}}};
    CHECK(has(refusal_of([&] { prepare_edit(scene.root(), scene.policy, request).publish(); }), "edits[1]"));
    CHECK(scene.get("hello.txt") == "hello\n");
    CHECK(scene.count_in() == 2);
}
