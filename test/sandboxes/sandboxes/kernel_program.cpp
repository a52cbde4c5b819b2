#include "kernels/kernel_program.hpp"
#include "test/support/catch.hpp"
#include "wire/packet_socket.hpp"

using namespace cmcp;

TEST_CASE("the start of a kernel fits into a packet, with room for the rest of a request")
{
    std::size_t size = 0;
    for (const auto& argument : kernel_arguments("/usr/bin/python3", "/app/results", ".kernel", true))
        size += argument.size();
    CHECK(size < sandbox::packet_limit / 4 * 3);
}
