#include "images/image_pulls.hpp"

#include "images/helper_program.hpp"
#include "images/image.hpp"
#include "wire/packet_socket.hpp"

#include "test/support/catch.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

namespace cmcp {
namespace {

unique_fd listen_on_this_machine(std::uint16_t& port)
{
    unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener.get(), 1);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port = ntohs(address.sin_port);
    return listener;
}

}  // namespace

TEST_CASE("an image that is fetched has one name, however it is written")
{
    CHECK(fetched_name("python") == "python:latest");
    CHECK(fetched_name("library/python:3") == "python:3");
    CHECK(fetched_name("team/python:3") == "team/python:3");
    CHECK(fetched_name("Registry.Example:5000/Team/tool") == "registry.example:5000/Team/tool:latest");
    CHECK(fetched_name("library/team/tool") == "library/team/tool:latest");
    CHECK_THROWS_AS(fetched_name("../x"), image_error);
}

TEST_CASE("a word allows the images whose names it describes, of its registry alone")
{
    const image_pulls pulls({"python:*", "node", "registry.example/team/*", "Other.Example:5000/tool:1", "team/a*b"});
    for (const char* name : {"python:3.12", "library/python:latest", "node:latest", "registry.example/team/tool:1",
                             "registry.example/team/sub/tool@sha256:0a", "REGISTRY.example/team/x:latest",
                             "other.example:5000/tool:1", "team/ab:latest", "team/axxb:latest"})
        CHECK(pulls.allow(name));
    for (const char* name :
         {"python@sha256:0a", "pythons:3.12", "evil.example/python:3.12", "evil/python:3.12", "node:20",
          "registry.example/other:1", "registry.example.evil/team/tool:1", "x/registry.example/team/tool:1",
          "other.example/tool:1", "other.example:5000/tool:12", "team/ab:2", "evil.example/team/ab:latest"})
        CHECK_FALSE(pulls.allow(name));
    CHECK(pulls.registries() == std::vector<std::string>{"registry.example:443", "other.example:5000"});
    CHECK_FALSE(image_pulls().allow("python:latest"));
}

TEST_CASE("a word of the default registry's own names allows no others")
{
    const image_pulls own({"library/*"}), all({"*/*"});
    CHECK(own.allow("python:3"));
    CHECK_FALSE(own.allow("team/python:3"));
    CHECK(all.allow("python:3"));
    CHECK(all.allow("team/python:3"));
    CHECK_FALSE(all.allow("evil.example/python:3"));
}

TEST_CASE("words that would fetch from anywhere, or past the guard, are refused")
{
    for (const char* word :
         {"*", "**", "*.example/x", "registry.*/x", "localhost:5000/x", "127.0.0.1:5000/*", "../x", "", "a b"})
        CHECK_THROWS_AS(image_pulls({word}), image_error);
}

TEST_CASE("a helper program with a way out reaches it and nothing else")
{
    std::uint16_t port = 0;
    const unique_fd outside = listen_on_this_machine(port);
    auto [ours, theirs] = sandbox::packet_socket_pair();
    const int to = theirs.get();
    const auto folder = std::filesystem::temp_directory_path();
    const auto run = [&](const std::string& command) {
        helper_order order{{"/bin/bash", "-c", command}, folder, std::uint64_t(1) << 40};
        order.way_out = [to](int listener) { sandbox::send_packet(to, "listener", {&listener, 1}); };
        run_helper(order);
        const auto packet = sandbox::receive_packet(ours.get());
        REQUIRE(packet);
        REQUIRE(packet->descriptors.size() == 1);
    };
    run(R"(address=${HTTPS_PROXY#http://}; exec 3<> "/dev/tcp/${address%:*}/${address#*:}")");
    CHECK_THROWS_AS(run("exec 3<> /dev/tcp/127.0.0.1/" + std::to_string(port)), image_error);
}

}  // namespace cmcp
