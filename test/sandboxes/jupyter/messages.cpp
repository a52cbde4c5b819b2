#include "jsonrpc/write_json.hpp"
#include "jupyter/message.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

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

TEST_CASE("a message of more values than a client needs is refused, and one of long texts is not")
{
    const auto with_content = [](const std::string& content) {
        return R"({"channel":"shell","header":{"msg_id":"1","msg_type":"execute_request"},"content":)" + content + "}";
    };
    const auto in_parts = [](const std::string& content) {
        auto one = example();
        one.content_text = content;
        return write_message(one, framing::v1);
    };
    std::string many = "[";
    for (int i = 0; i < 30'000; ++i) many += "[],";
    many = R"({"code":"","more":)" + many + "0]}";
    CHECK_FALSE(read_message(with_content(many), framing::json));
    CHECK(read_message(in_parts(many), framing::v1)->content.empty());
    const std::string code = R"({"code":")" + std::string(3'000'000, ',') + R"(\"[[[{{,,"})";
    REQUIRE(read_message(with_content(code), framing::json));
    CHECK(read_message(in_parts(code), framing::v1)->content.at("code").as_string().size() == 3'000'008);
    const auto long_header = R"({"header":{"msg_type":"x","more":")" + std::string(5000, 'x') + R"("}})";
    CHECK_FALSE(read_message(long_header, framing::json));
}

TEST_CASE("the text of a content goes out as it is")
{
    auto one = example();
    one.content.clear();
    one.content_text = R"({"data":{"text/plain":"1.50"}})";
    for (const auto as : {framing::json, framing::v1}) {
        const auto heard = read_message(write_message(one, as), as);
        REQUIRE(heard);
        CHECK(heard->content.at("data").at("text/plain") == "1.50");
    }
}

TEST_CASE("reading a message takes time in the measure of its length")
{
    for (const std::string_view piece : {"[],", "{\"a\":0},", "\"x\",", "\"\\ud83d\",", "[[[[[[", "1e5,", "\\"}) {
        const auto text = [&](std::size_t size) {
            std::string all = R"({"channel":"shell","header":{"msg_type":"x"},"content":{"a":[)";
            while (all.size() < size) all += piece;
            return all + "0]}}";
        };
        INFO(piece);
        CHECK(test::growth(
                  text, [](const std::string& of) { read_message(of, framing::json); }, 4'000'000) <
              test::linear_growth);
    }
}
