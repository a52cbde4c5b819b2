#include "test/tools/sandbox_support.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a fork has the files of the first and nothing else in common with it")
{
    sandbox_stage s;
    const auto first = s.create();
    s.shell_in(first, "mkdir -p d; echo 1 > d/a; ln -s d/a link; chmod 755 d/a; truncate -s 10M sparse");
    const auto second = text(s.tool("fork_sandbox", {{"sandbox_id", first}, {"name", "copy"}}), "sandbox_id");
    CHECK(text(s.shell_in(second, "cat link; stat -c %a d/a; du -k sparse | cut -f1"), "stdout") == "1\n755\n0\n");
    s.shell_in(second, "echo 2 > d/a");
    CHECK(text(s.shell_in(first, "cat d/a"), "stdout") == "1\n");
}

TEST_CASE("a snapshot is a state to go back to")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo 1 > a");
    const auto kept = s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}});
    CHECK(kept.at("snapshots").as_array().size() == 1);
    CHECK(text(s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}}), "error_type") == "NameTaken");
    s.shell_in(id, "echo 2 > a; echo 3 > b");
    CHECK(s.tool("restore_sandbox", {{"sandbox_id", id}, {"snapshot", "first"}}).at("success") == true);
    CHECK(text(s.shell_in(id, "cat a; ls"), "stdout") == "1\na\n");
    CHECK(text(s.tool("restore_sandbox", {{"sandbox_id", id}, {"snapshot", "second"}}), "error_type") == "NotFound");
    CHECK(s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}, {"action", "delete"}})
              .at("snapshots")
              .as_array()
              .empty());
}

TEST_CASE("the quotas of number and disk name their setting and what takes the place")
{
    settings config = all_programs();
    config.sandbox_max_per_caller = 2;
    config.sandbox_disk_quota = 4 << 20;
    sandbox_stage s(config);
    const auto id = s.create("big");
    s.create();
    CHECK(text(s.tool("create_sandbox"), "error").find("SANDBOX_MAX_PER_CALLER") != std::string::npos);
    CHECK_FALSE(s.as("bob", "create_sandbox", {}).contains("error"));
    const auto refused =
        s.tool("upload_file_to_sandbox",
               {{"sandbox_id", id}, {"content", base64_encode(std::string(5 << 20, 'x'))}, {"dest_path", "x"}});
    CHECK(text(refused, "error_type") == "QuotaExceeded");
    CHECK(text(refused, "error").find("SANDBOX_DISK_QUOTA") != std::string::npos);
    const auto ended = s.shell_in(id, "for i in $(seq 1000); do head -c 1000000 /dev/urandom > f$i; sleep 0.05; done");
    CHECK(text(ended, "cause") == "file_size_limit");
    CHECK(text(ended, "error").find("SANDBOX_DISK_QUOTA") != std::string::npos);
    CHECK(s.shell_in(id, "rm f*").at("success") == true);
}

TEST_CASE("idle sandboxes are stopped and old ones deleted, busy ones neither")
{
    sandbox_stage s;
    const auto idle = s.create("idle");
    const auto busy = s.create("busy");
    const auto job =
        text(s.tool("execute_terminal_command",
                    {{"sandbox_id", busy}, {"command", "echo up; sleep 1000"}, {"run_in_background", true}}),
             "job_id");
    s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    const auto status = [&](const std::string& id) {
        for (const auto& each : s.all->sandboxes->store().all())
            if (each.id == id) return each.status;
        return std::string("gone");
    };
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 3'000));
    CHECK(status(idle) == "stopped");
    CHECK(status(busy) == "running");
    CHECK(text(s.shell_in(idle, "echo on"), "stdout") == "on\n");
    CHECK(status(idle) == "running");
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 31 * 86'400.0));
    CHECK(status(idle) == "gone");
    CHECK_FALSE(fs::exists(s.files_of(idle)));
    CHECK(status(busy) == "running");
}

TEST_CASE("after a restart sandboxes are there as they were, and what is left of others is gone")
{
    settings config = all_programs();
    temporary_folder kept;
    config.sandbox_root = kept.path;
    asio::io_context io;
    blocking_pool pool(1);
    std::string id;
    {
        record_folder folder(kept.path / "sandboxes");
        sandbox_manager first(config, io.get_executor(), pool, folder, handle_maker("here"));
        id = run_coroutine(io, first.create({}, {"work", {}})).id;
        const auto half = run_coroutine(io, first.create({}, {"half", {}}));
        first.store().begin_delete(half.id);  // killed in the middle of a deletion
        std::ofstream(first.places().workspace(id) / "a.txt") << "1";
        fs::create_directories(first.places().workspace(first.handles().make("sbx")));  // killed amid a creation
        const auto lost = run_coroutine(io, first.create({}, {"lost", {}}));
        fs::remove_all(first.places().folder(lost.id));
    }
    record_folder folder(kept.path / "sandboxes");
    sandbox_manager second(config, io.get_executor(), pool, folder, handle_maker("here"));
    const auto all = second.list({});
    REQUIRE(all.size() == 1);
    CHECK(all[0].id == id);
    CHECK(all[0].status == "stopped");
    CHECK(fs::exists(second.places().workspace(id) / "a.txt"));
    CHECK(second.places().all() == std::vector<std::string>{id});
}
