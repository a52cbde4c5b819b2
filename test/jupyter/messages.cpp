#include "jsonrpc/write_json.hpp"
#include "jupyter/message.hpp"
#include "test/support/catch.hpp"

#include <set>

using namespace cmcp;
using namespace cmcp::jupyter;

namespace {

message example()
{
    message request;
    request.channel = "shell";
    request.header = {{"msg_id", "1"}, {"msg_type", "execute_request"}};
    request.content = {{"code", "print('é')"}};
    return request;
}

bool same(const message& one, const message& other)
{
    return one.channel == other.channel && one.header == other.header && one.parent == other.parent &&
           one.metadata == other.metadata && one.content == other.content;
}

}  // namespace

TEST_CASE("a message reads back from both framings as it was written")
{
    for (const auto as : {framing::json, framing::v1}) {
        const auto heard = read_message(write_message(example(), as), as);
        REQUIRE(heard);
        CHECK(same(*heard, example()));
    }
}

TEST_CASE("a message by offsets has the layout of v1.kernel.websocket.jupyter.org")
{
    const auto bytes = write_message(example(), framing::v1);
    const auto number = [&](std::size_t at) {
        std::uint64_t value = 0;
        for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[8 * at + i]);
        return value;
    };
    CHECK(number(0) == 6);  // offsets of the channel, four parts and the end
    CHECK(number(1) == 8 * 7);
    CHECK(bytes.substr(number(1), number(2) - number(1)) == "shell");
    CHECK(bytes.substr(number(3), number(4) - number(3)) == "{}");
    CHECK(bytes.substr(number(5)) == R"json({"code":"print('é')"})json");
    CHECK(number(6) == bytes.size());
}

TEST_CASE("buffers behind the parts of a message are left out")
{
    auto whole = write_message(example(), framing::v1);
    std::string bytes(8, '\0');
    bytes[0] = 7;
    for (std::size_t i = 1; i <= 6; ++i) {
        std::string number = whole.substr(8 * i, 8);
        number[0] = static_cast<char>(number[0] + 8);  // for the offset that is added
        bytes += number;
    }
    bytes += bytes.substr(8 * 6, 8);
    bytes[8 * 7] = static_cast<char>(bytes[8 * 7] + 3);
    bytes += whole.substr(8 * 7) + "abc";
    const auto heard = read_message(bytes, framing::v1);
    REQUIRE(heard);
    CHECK(same(*heard, example()));
}

TEST_CASE("bytes that are no message are refused")
{
    for (const auto* bytes : {"", "x", "{}", "[]", R"({"header": 1})", "\1\0\0\0\0\0\0\0"}) {
        CHECK_FALSE(read_message(bytes, framing::json));
        CHECK_FALSE(read_message(bytes, framing::v1));
    }
    auto whole = write_message(example(), framing::v1);
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK_FALSE(read_message(whole.substr(0, length), framing::v1));
    whole[8] = '\xff';  // the channel begins behind its end
    CHECK_FALSE(read_message(whole, framing::v1));
}

TEST_CASE("a message of JSON tells its type and id beside its header")
{
    const auto whole = json::parse(write_message(example(), framing::json)).as_object();
    CHECK(whole.at("msg_type") == "execute_request");
    CHECK(whole.at("msg_id") == "1");
    CHECK(whole.at("buffers").as_array().empty());
}

TEST_CASE("ids are UUIDs of version 4, and differ")
{
    std::set<std::string> all;
    for (int i = 0; i < 100; ++i) {
        const auto id = new_uuid();
        REQUIRE(id.size() == 36);
        for (const std::size_t at : {8, 13, 18, 23}) CHECK(id[at] == '-');
        CHECK(id[14] == '4');
        CHECK(std::string_view("89ab").find(id[19]) != std::string_view::npos);
        all.insert(id);
    }
    CHECK(all.size() == 100);
}

TEST_CASE("half a character in a message is one that cannot be shown, and the message is taken")
{
    const auto code_in = [](std::string_view escaped) {
        const std::string content = R"({"code":")" + std::string(escaped) + R"("})";
        const auto heard = read_message(
            R"({"channel":"shell","header":{"msg_type":"execute_request"},"content":)" + content + "}", framing::json);
        REQUIRE(heard);
        return std::string(heard->content.at("code").as_string());
    };
    CHECK(code_in(R"(x\ud83d)") == "x\xef\xbf\xbd");
    CHECK(code_in(R"(\ude00x)") == "\xef\xbf\xbdx");
    CHECK(code_in(R"(\ud83d\ud83d\ude00\ude00)") == "\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd");
    CHECK(code_in(R"(\\ud83d\ud83d)") == "\\ud83d\xef\xbf\xbd");
    CHECK(code_in(R"(\ud83d\ude00)") == "\xf0\x9f\x98\x80");
    CHECK(!read_message(R"({"channel":"shell","header":{"msg_type":"\ud83d)", framing::json));
    CHECK(!read_message(R"({"header":"\u00zz\ud83d"})", framing::json));
}
