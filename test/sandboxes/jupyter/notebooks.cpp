#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "jupyter/contents.hpp"
#include "jupyter/folders.hpp"
#include "jupyter/notebook_text.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <boost/json.hpp>

using namespace cmcp::jupyter;
namespace test = cmcp::test;

TEST_CASE("a notebook is indented, and its numbers and strings stay as they are")
{
    const std::string text =
        R"({"cells":[{"source":"a\"{[,:]}\\","n":1.0,"big":123456789012345678901234567890}],"empty":{},"none":[],"t":true})";
    const std::string wanted = R"({
 "cells": [
  {
   "source": "a\"{[,:]}\\",
   "n": 1.0,
   "big": 123456789012345678901234567890
  }
 ],
 "empty": {},
 "none": [],
 "t": true
}
)";
    CHECK(indented_json(text) == wanted);
    CHECK(indented_json(wanted) == wanted);
}

TEST_CASE("the text of a member is found at the top alone, and the last of a name counts")
{
    const std::string body =
        R"({"type": "notebook", "inner": {"content": 1}, "content" : {"a": "\"content\": 2"}, "b": []})";
    CHECK(member_text(body, "content") == R"({"a": "\"content\": 2"})");
    CHECK(member_text(body, "type") == R"("notebook")");
    CHECK(member_text(body, "b") == "[]");
    CHECK_FALSE(member_text(body, "a"));
    CHECK(member_text(R"({"a": 1, "a": 2})", "a") == "2");
}

TEST_CASE("paths of contents are taken apart without their outer slashes")
{
    CHECK(trimmed_path("//a/b/") == "a/b");
    CHECK(trimmed_path("/").empty());
    CHECK(name_in("a/b.ipynb") == "b.ipynb");
    CHECK(folder_of("a/b/c") == "a/b");
    CHECK(folder_of("c").empty());
    CHECK(joined("", "x") == "x");
    CHECK(joined("a", "x") == "a/x");
    CHECK(folders::lists_sandboxes("sandboxes"));
    CHECK_FALSE(folders::lists_sandboxes("sandboxes/a"));
}

TEST_CASE("what is stored is read out of a model's text")
{
    CHECK(read_stored(R"({"type":"notebook","content":{"cells":[1.0]}})").bytes == "{\n \"cells\": [\n  1.0\n ]\n}\n");
    CHECK(read_stored(R"({"type":"file","format":"base64","content":"AGE="})").bytes == std::string("\0a", 2));
    CHECK(read_stored(R"({"type":"directory"})").type == "directory");
    const auto piece = read_stored(R"({"type":"file","content":"x","chunk":-1})");
    CHECK(piece.chunk == -1);
    CHECK(piece.bytes == "x");
    for (const auto* wrong :
         {"", "{}", "[]", R"({"type":"file","content":1})", R"({"type":"file","format":"base64","content":"*"})",
          R"({"type":"notebook","content":{},"chunk":1})"})
        CHECK_THROWS_AS(read_stored(wrong), cmcp::http_refusal);
}

TEST_CASE("only the text of an object is one")
{
    using cmcp::jsonrpc::is_object_text;
    for (const auto* text : {"{}", " \n{\"a\":[1,2.5e3,null,true,\"\\u00e9\"]} "}) CHECK(is_object_text(text));
    for (const auto* text : {"", " ", "[]", "1", "{", "{}{}", "{\"a\":}", "{\"a\":\"\xff\"}"})
        CHECK_FALSE(is_object_text(text));
    CHECK_FALSE(is_object_text("{\"a\":" + std::string(300, '[') + std::string(300, ']') + "}"));
}

TEST_CASE("a notebook takes time and room in the measure of its length")
{
    const auto nested = [](std::size_t size) {
        std::string text = R"({"type":"notebook","content":{"cells":)" + std::string(200, '[');
        while (text.size() < size) text += "[],";
        return text + "0" + std::string(200, ']') + "}}";
    };
    const auto cells = [](std::size_t size) {
        std::string text = R"({"type":"notebook","content":{"cells":[)";
        while (text.size() < size) text += R"({"source":"print(\"{[,:]}\")\n","outputs":[],"n":1.5},)";
        return text + "{}]}}";
    };
    CHECK(read_stored(nested(300'000)).bytes.size() < 20 * 300'000);
    CHECK(test::growth(
              nested, [](const std::string& of) { read_stored(of); }, 500'000) < test::linear_growth);
    CHECK(test::growth(
              cells, [](const std::string& of) { read_stored(of); }, 500'000) < test::linear_growth);
    CHECK(test::growth(
              cells, [](const std::string& of) { cmcp::jsonrpc::is_object_text(of); }, 2'000'000) <
          test::linear_growth);
}
