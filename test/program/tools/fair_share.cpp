#include "test/program/tools/sandbox_support.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

caller named(std::string principal)
{
    caller who;
    who.principal = std::move(principal);
    return who;
}

/// Calls of several principals that go on side by side.
struct busy_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;

    void begin(const std::string& principal, std::string name, json::object arguments)
    {
        asio::co_spawn(io, start(std::move(name), std::move(arguments), named(principal)),
                       [this](std::exception_ptr failure, tool_result result) {
                           CHECK_FALSE(failure);
                           ended.push_back(std::move(result));
                       });
    }
    void wait_for_all(std::size_t count)
    {
        io.restart();
        while (ended.size() < count) REQUIRE(io.run_one() == 1);
    }

    std::vector<tool_result> ended;
};

void fill(const fs::path& workspace, int folders, int files)
{
    for (int i = 0; i < folders; ++i) {
        const fs::path folder = workspace / std::to_string(i);
        fs::create_directory(folder);
        for (int k = 0; k < files; ++k) std::ofstream(folder / std::to_string(k)).close();
    }
}

}  // namespace

TEST_CASE("forks of a sandbox with very many files do not hold up the calls of another principal")
{
    busy_stage s;
    const auto id = text(s.as("alice", "create_sandbox", {}), "sandbox_id");
    fill(s.files_of(id), 60, 150);
    for (int i = 0; i < 4; ++i) s.begin("alice", "fork_sandbox", {{"sandbox_id", id}});
    for (int i = 0; i < 5; ++i) {
        CHECK(text(s.as("bob", "system_run_command", {{"command", "echo hi"}}), "stdout") == "hi\n");
        CHECK(s.as("bob", "file_list", {{"path", "/"}}).contains("entries"));
    }
    CHECK(s.ended.empty());
    s.wait_for_all(4);
    for (const auto& fork : s.ended) {
        const auto copy = text(fork.structured, "sandbox_id");
        CHECK(std::distance(fs::directory_iterator(s.files_of(copy) / "59"), fs::directory_iterator()) == 150);
    }
}
