#include "kernels/marked_stream.hpp"
#include "test/support/catch.hpp"

using cmcp::marked_stream;

namespace {

marked_stream expecting(const char* mark)
{
    marked_stream stream;
    stream.expect(mark);
    return stream;
}

}  // namespace

TEST_CASE("a stream gives what stands before its mark, also when the mark comes in pieces")
{
    auto stream = expecting("\x1eid\x1e");
    CHECK(stream.put("text\x1ei") == "text");
    CHECK(stream.put("x\x1eid") == "\x1eix");
    CHECK(stream
              .put("\x1e"
                   "behind")
              .empty());
    stream.delivered();
    CHECK(stream.ended());
}

TEST_CASE("a stream waits at the place of an event and gives the rest when it goes on")
{
    auto stream = expecting("\x1eid\x1e");
    CHECK(stream.put("one\x1eid\x1dtwo\x1eid\x1d"
                     "three\x1eid\x1e") == "one");
    CHECK(stream.paused());
    CHECK(stream.put("").empty());
    stream.go_on();
    CHECK(stream.put("") == "two");
    CHECK(stream.paused());
    stream.go_on();
    CHECK(stream.put("") == "three");
    CHECK_FALSE(stream.paused());
    stream.delivered();
    CHECK(stream.ended());
}

TEST_CASE("a stream passes on what only begins like its mark")
{
    auto stream = expecting("\x1eid\x1e");
    CHECK(stream.put("\x1eid?") == "\x1eid?");
    CHECK_FALSE(stream.paused());
    CHECK(stream.put("a\x1eid").substr(0, 1) == "a");
    CHECK(stream.put("\x1d").empty());
    CHECK(stream.paused());
}
