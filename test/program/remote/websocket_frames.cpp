#include "remote/websocket_frames.hpp"

#include "test/support/catch.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using cmcp::command::websocket_frames;
using kind = websocket_frames::kind;

namespace {

std::string bytes_of(const std::vector<unsigned>& all)
{
    std::string text;
    for (const unsigned each : all) text += static_cast<char>(each);
    return text;
}

// A frame as a server sends it: without a mask.
std::string from_server(unsigned first, const std::string& payload)
{
    std::string frame(1, static_cast<char>(first));
    if (payload.size() < 126) {
        frame += static_cast<char>(payload.size());
    } else if (payload.size() <= 0xffff) {
        frame +=
            bytes_of({126, static_cast<unsigned>(payload.size() >> 8), static_cast<unsigned>(payload.size() & 0xff)});
    } else {
        frame += static_cast<char>(127);
        for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift);
    }
    return frame + payload;
}

std::string unmasked(const std::string& frame, std::size_t header)
{
    std::string payload = frame.substr(header + 4);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ frame[header + i % 4]);
    return payload;
}

}  // namespace

TEST_CASE("the answer to a handshake is that of RFC 6455")
{
    CHECK(websocket_frames::accept_for("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST_CASE("a client's frames are masked, each by another mask, and have their length in the shortest form")
{
    for (const std::size_t size : {0u, 125u, 126u, 65'535u, 65'536u}) {
        const std::string payload(size, 'p');
        const auto frame = websocket_frames::frame(kind::binary, payload);
        const std::size_t header = size < 126 ? 2 : size <= 0xffff ? 4 : 10;
        CHECK(frame.size() == header + 4 + size);
        CHECK(static_cast<unsigned char>(frame[0]) == 0x82);
        CHECK((static_cast<unsigned char>(frame[1]) & 0x80) != 0);
        CHECK(unmasked(frame, header) == payload);
    }
    CHECK(websocket_frames::frame(kind::text, "same text") != websocket_frames::frame(kind::text, "same text"));
    CHECK(unmasked(websocket_frames::close_frame(1000), 2) == bytes_of({0x03, 0xe8}));
}

TEST_CASE("messages come whole, whatever the pieces in which their frames arrive")
{
    const std::string all = from_server(0x82, "first") + from_server(0x01, "in ") + from_server(0x89, "ping") +
                            from_server(0x00, "three ") + from_server(0x80, "frames") +
                            from_server(0x82, std::string(70'000, 'x')) +
                            from_server(0x88, bytes_of({0x03, 0xe8}) + "bye");
    for (const std::size_t piece : {1u, 3u, 100'000u}) {
        websocket_frames frames;
        std::vector<websocket_frames::message> heard;
        for (std::size_t at = 0; at < all.size(); at += piece) {
            frames.feed(std::string_view(all).substr(at, piece));
            while (auto next = frames.next()) heard.push_back(std::move(*next));
        }
        REQUIRE(heard.size() == 5);
        CHECK((heard[0].is == kind::binary && heard[0].bytes == "first"));
        CHECK((heard[1].is == kind::ping && heard[1].bytes == "ping"));
        CHECK((heard[2].is == kind::text && heard[2].bytes == "in three frames"));
        CHECK(heard[3].bytes.size() == 70'000);
        CHECK((heard[4].is == kind::close && heard[4].code == 1000 && heard[4].bytes == "bye"));
    }
}

TEST_CASE("a server that breaks the protocol of WebSockets is not listened to")
{
    const std::vector<std::string> broken{
        bytes_of({0xc2, 0x00}),                                     // bits of an extension
        bytes_of({0x82, 0x80, 1, 2, 3, 4}),                         // masked
        bytes_of({0x09, 0x00}),                                     // a ping in pieces
        bytes_of({0x89, 126, 0, 200}),                              // a long ping
        bytes_of({0x80, 0x00}),                                     // a continuation of nothing
        from_server(0x01, "begun") + from_server(0x82, "another"),  // another message within one
        bytes_of({0x82, 127, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}),  // longer than any message
    };
    for (const auto& each : broken) {
        websocket_frames frames;
        frames.feed(each);
        CHECK_THROWS_AS(frames.next(), std::runtime_error);
    }
    websocket_frames silent;
    silent.feed(from_server(0x88, ""));
    CHECK(silent.next()->code == 1005);
}
