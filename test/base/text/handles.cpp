#include "text/handles.hpp"

#include "test/support/catch.hpp"

#include <string>
#include <vector>

namespace cmcp {
namespace {

const std::string random_part = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("a handle of any kind names the node that made it", "[text]")
{
    for (const char* node : {"a", "box-1", "-", "node-0a1b2c3d", "0123456789abcdef0123456789abcdef"})
        for (const char* kind : {"sbx", "job", "ses", "ab", "abcdefgh"}) {
            const auto handle = handle_maker(node).make(kind);
            CAPTURE(handle);
            CHECK(handle_maker::node_of(handle) == node);
            CHECK(handle_maker::fits(kind, handle));
        }
    CHECK(handle_maker::node_of(handle_maker("Box.Example").make("shl")) == "box-example");
    CHECK(handle_maker::node_of(handle_maker("").make("snp")) == "node");
}

TEST_CASE("a text that is no handle names no node", "[text]")
{
    const std::string end = "_" + random_part;
    REQUIRE(handle_maker::node_of("sbx_box" + end) == "box");
    for (const std::string& text : std::vector<std::string>{"",
                                                            "sbx",
                                                            "_",
                                                            "sbx" + end,
                                                            "sbx_" + end,
                                                            "_box" + end,
                                                            "s_box" + end,
                                                            "abcdefghi_box" + end,
                                                            "Sbx_box" + end,
                                                            "sb1_box" + end,
                                                            "sbx_Box" + end,
                                                            "sbx_b.x" + end,
                                                            "sbx_b_x" + end,
                                                            "sbx_" + std::string(33, 'b') + end,
                                                            "sbx_box" + end + "0",
                                                            "sbx_box" + end.substr(0, 32),
                                                            "sbx_box_" + random_part.substr(1) + "g",
                                                            "sbx_box_" + random_part.substr(1) + "A",
                                                            " sbx_box" + end,
                                                            "sbx_box" + end + "\n",
                                                            random_part,
                                                            "my box"}) {
        CAPTURE(text);
        CHECK(handle_maker::node_of(text).empty());
    }
}

}  // namespace cmcp
