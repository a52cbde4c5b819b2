#include "egress/websocket_mask.hpp"
#include "test/support/catch.hpp"

#include <random>

using namespace cmcp;

namespace {

const std::string api_key = "sk-live_4eC39HqLyjWDarjtT1zdp7dc";
const std::string api_mask = "cmcp-secret-00112233445566778899";

std::shared_ptr<const secret_masks> masks_of_api_key()
{
    const held_secret secret{"KEY", read_secret_hosts("api.test"),
                             secret_position::read("header Authorization: Bearer {}"), api_key, api_mask};
    return std::make_shared<const secret_masks>(std::vector<held_secret>{secret});
}

enum frame_kind : unsigned char { more = 0x00, text = 0x01, binary = 0x02, ping = 0x89, last = 0x80 };

std::string frame(int first, const std::string& payload)
{
    std::string out(1, static_cast<char>(first));
    const auto size = payload.size();
    if (size < 126) return out + static_cast<char>(size) + payload;
    const int digits = size < 65536 ? 2 : 8;
    out += digits == 2 ? '\x7e' : '\x7f';
    for (int i = digits - 1; i >= 0; --i) out += static_cast<char>(static_cast<std::uint64_t>(size) >> (8 * i));
    return out + payload;
}

struct passed_on {
    std::string bytes, problem;
};

passed_on passed_in_pieces(const std::string& wire, std::size_t size)
{
    websocket_mask mask(masks_of_api_key());
    passed_on all;
    for (std::size_t at = 0; at < wire.size() && mask.problem().empty(); at += size)
        all.bytes += mask.feed(std::string_view(wire).substr(at, size));
    if (mask.problem().empty()) all.bytes += mask.finish();
    all.problem = mask.problem();
    return all;
}

void expect_everywhere(const std::string& wire, const std::string& expected)
{
    for (const std::size_t size : {1u, 2u, 3u, 7u, 33u, 1000u, 1u << 20}) {
        const auto passed = passed_in_pieces(wire, size);
        INFO("in pieces of " << size);
        CHECK(passed.problem.empty());
        CHECK((passed.bytes == expected));
    }
}

std::string problem_of(const std::string& wire) { return passed_in_pieces(wire, 5).problem; }

}  // namespace

TEST_CASE("frames of a WebSocket pass as they are, and a secret in one is masked")
{
    const std::string large(70'000, 'x');
    expect_everywhere(frame(last | text, "a " + api_key) + frame(last | binary, large) + frame(last | text, ""),
                      frame(last | text, "a " + api_mask) + frame(last | binary, large) + frame(last | text, ""));
}

TEST_CASE("a secret that is split over the frames of a message is masked, at each place and with pings between")
{
    for (std::size_t at = 1; at < api_key.size(); ++at) {
        const auto wire = [&](const std::string& value) {
            return frame(text, "< " + value.substr(0, at)) + frame(ping, "are you there") + frame(more, "") +
                   frame(last | more, value.substr(at) + " >") + frame(last | text, "next");
        };
        INFO("at " << at);
        expect_everywhere(wire(api_key), wire(api_mask));
    }
}

TEST_CASE("a secret that comes in frames of one byte each is masked")
{
    const auto wire = [](const std::string& value) {
        std::string all = frame(text, value.substr(0, 1));
        for (std::size_t i = 1; i < value.size(); ++i) all += frame(more, value.substr(i, 1));
        return all + frame(last | more, "");
    };
    expect_everywhere(wire(api_key), wire(api_mask));
}

TEST_CASE("a control frame masks what it says, and goes on at once where nothing is held")
{
    expect_everywhere(frame(ping, api_key) + frame(last | 0x08, "\x03\xe8" + api_key),
                      frame(ping, api_mask) + frame(last | 0x08, "\x03\xe8" + api_mask));
    websocket_mask mask(masks_of_api_key());
    CHECK(mask.feed(frame(last | text, "hello")) == frame(last | text, "hello"));
    CHECK(mask.feed(frame(ping, "")) == frame(ping, ""));
}

TEST_CASE("the end of a message waits for nothing, though it may be the beginning of a secret")
{
    websocket_mask mask(masks_of_api_key());
    CHECK(mask.feed(frame(text, "sk-")) == frame(text, "").substr(0, 1) + "\x03");
    CHECK(mask.feed(frame(last | more, "live")) == "sk-" + frame(last | more, "live"));
    CHECK(mask.feed(frame(last | text, api_key.substr(0, 20))) == frame(last | text, api_key.substr(0, 20)));
}

TEST_CASE("frames that are none, or could hide something, end a WebSocket")
{
    const std::string hello = frame(last | text, "hello");
    CHECK(problem_of(hello).empty());
    CHECK(problem_of(frame(last | text | 0x40, "compressed")).find("extension") != std::string::npos);
    CHECK(problem_of(frame(last | 0x20 | text, "x")).find("extension") != std::string::npos);
    CHECK_FALSE(problem_of(frame(last | 0x03, "x")).empty());
    CHECK_FALSE(problem_of(frame(last | 0x0b, "x")).empty());
    CHECK_FALSE(problem_of(std::string("\x81\x85") + "mask" + "hello").empty());
    CHECK_FALSE(problem_of(frame(last | more, "nothing began")).empty());
    CHECK_FALSE(problem_of(frame(text, "begun") + hello).empty());
    CHECK_FALSE(problem_of(frame(0x09, "a ping in parts")).empty());
    CHECK_FALSE(problem_of(frame(ping, std::string(126, 'x'))).empty());
    CHECK_FALSE(problem_of(std::string("\x82\x7f\xff") + std::string(7, '\xff')).empty());
    const auto stopped = passed_in_pieces(hello + frame(last | text | 0x40, api_key), 1);
    CHECK((stopped.bytes == hello));
}

TEST_CASE("what a server sends in the middle of a message is held to a bound")
{
    websocket_mask mask(masks_of_api_key());
    std::string wire = frame(text, "a message");
    for (int i = 0; i < 40'000; ++i) wire += frame(more, "");
    static_cast<void>(mask.feed(wire));
    CHECK(mask.problem().find("too many") != std::string::npos);
}

TEST_CASE("a long message in frames of one byte passes")
{
    std::string wire = frame(text, "");
    for (int i = 0; i < 100'000; ++i) wire += frame(more, "x");
    wire += frame(last | more, "");
    const auto passed = passed_in_pieces(wire, 5000);
    CHECK(passed.problem.empty());
    CHECK((passed.bytes == wire));
}

TEST_CASE("any bytes pass a WebSocket's mask at their length, or end it")
{
    std::mt19937 random(11);
    for (int round = 0; round < 3000; ++round) {
        std::string wire;
        for (int frames = 0; frames < 6; ++frames) {
            const auto from = random() % api_key.size();
            wire += frame(random() % 4 == 0 ? random() % 256
                          : frames == 0     ? text
                                            : more | (random() % 5 ? 0 : last),
                          api_key.substr(from, random() % 40));
        }
        const auto passed = passed_in_pieces(wire, 1 + random() % 9);
        REQUIRE(passed.bytes.size() <= wire.size());
        if (passed.problem.empty()) REQUIRE(passed.bytes.size() == wire.size());
    }
}
