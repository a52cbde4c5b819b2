#include "jupyter/folders.hpp"
#include "jupyter/notebook_text.hpp"
#include "test/support/catch.hpp"

#include <boost/json.hpp>

using namespace cmcp::jupyter;

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
