#include "wire/packet_socket.hpp"

#include "test/support/catch.hpp"

#include <pthread.h>
#include <signal.h>

#include <thread>

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

TEST_CASE("a packet is waited for in spite of signals, and no longer than said")
{
    auto [ours, theirs] = packet_socket_pair();
    CHECK_FALSE(wait_for_packet(ours.get(), 0));
    struct sigaction interrupting {
    }, before{};
    interrupting.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &interrupting, &before);
    std::thread sender([to = theirs.get(), waiting = ::pthread_self()] {
        ::pthread_kill(waiting, SIGUSR1);
        send_packet(to, "a");
    });
    const auto heard = wait_for_packet(ours.get(), -1);
    sender.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    REQUIRE(heard);
    CHECK(heard->bytes == "a");
    theirs.reset();
    CHECK_FALSE(wait_for_packet(ours.get(), -1));
}
