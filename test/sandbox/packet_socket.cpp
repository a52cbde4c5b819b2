#include "wire/packet_socket.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::sandbox;

TEST_CASE("what a peer said is heard although it ended without reading what it was sent")
{
    auto [ours, theirs] = packet_socket_pair();
    REQUIRE(send_packet(ours.get(), "never read"));
    REQUIRE(send_packet(theirs.get(), "last words"));
    theirs.reset();
    const auto heard = receive_packet(ours.get());
    REQUIRE(heard);
    CHECK(heard->bytes == "last words");
    const auto end = receive_packet(ours.get());
    REQUIRE(end);
    CHECK(end->bytes.empty());
}

TEST_CASE("no packet yet is told apart from the end")
{
    auto [ours, theirs] = packet_socket_pair();
    CHECK_FALSE(receive_packet(ours.get()));
    REQUIRE(send_packet(theirs.get(), "a"));
    CHECK(await_packet(ours.get()).bytes == "a");
    theirs.reset();
    CHECK(await_packet(ours.get()).bytes.empty());
}
