#include "config/settings.hpp"
#include "files/trees.hpp"
#include "runs/sandbox_error.hpp"
#include "test/program/tools/sandbox_support.hpp"

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

TEST_CASE("a sandbox's account has the name that was asked for, and so has its fork")
{
    sandbox_stage s;
    const auto answer = s.tool("create_sandbox", {{"user", "ann-1"}});
    CHECK(text(answer, "user") == "ann-1");
    const auto fork = text(s.tool("fork_sandbox", {{"sandbox_id", text(answer, "sandbox_id")}}), "sandbox_id");
    CHECK(text(s.shell_in(fork, "id -un"), "stdout") == "ann-1\n");
    CHECK(text(s.shell_in(s.create(), "id -un"), "stdout") == "sandbox\n");
    for (const char* name : {"root", "Ann", "ann:0", "1", ""}) {
        INFO(name);
        CHECK(s.tool("create_sandbox", {{"user", name}}).contains("error") == (*name != '\0'));
    }
}

TEST_CASE("a snapshot is a state to go back to")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo 1 > a");
    const auto root = s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}});
    CHECK(root.at("snapshots").as_array().size() == 1);
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

TEST_CASE("a paused sandbox has its files and variables when it is used again")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo 1 > a");
    s.tool("execute_python_code", {{"sandbox_id", id}, {"code", "x = 41"}, {"stateful", true}});
    const auto paused = s.tool("pause_sandbox", {{"sandbox_id", id}});
    CHECK(text(paused, "status") == "stopped");
    CHECK(paused.at("kept_elsewhere") == false);
    CHECK(text(s.tool("resume_sandbox", {{"sandbox_id", id}}), "status") == "running");
    const auto after = s.tool("execute_python_code",
                              {{"sandbox_id", id}, {"code", "print(x + 1, open('a').read())"}, {"stateful", true}});
    CHECK(text(after, "stdout") == "42 1\n\n");
}

TEST_CASE("the quotas of number and disk name their setting and what takes the place")
{
    settings config = all_programs();
    config.auth_quotas = {"*:sandboxes=2"};
    config.sandbox_disk_quota = 4 << 20;
    sandbox_stage s(config);
    const auto id = s.create("big");
    s.create();
    CHECK(text(s.tool("create_sandbox"), "error").find("AUTH_QUOTAS=*:sandboxes") != std::string::npos);
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

TEST_CASE("sandboxes that are created side by side are as many as the quota has, and one that fails leaves its place")
{
    settings config = all_programs();
    config.auth_quotas = {"*:sandboxes=6"};
    sandbox_stage s(config);
    const auto first = s.create("first");
    int created = 0, full = 0, taken = 0, done = 0;
    const auto begin = [&](const char* tool, json::object arguments) {
        asio::co_spawn(s.io, s.start(tool, std::move(arguments)), [&](std::exception_ptr, tool_result result) {
            ++done;
            const auto type = result.is_error ? text(result.structured, "error_type") : std::string();
            created += type.empty() ? 1 : 0;
            full += type == "QuotaExceeded" ? 1 : 0;
            taken += type == "NameTaken" ? 1 : 0;
        });
    };
    begin("create_sandbox", {{"name", "first"}});
    for (int i = 0; i < 20; ++i) begin("create_sandbox", {});
    for (int i = 0; i < 20; ++i) begin("fork_sandbox", {{"sandbox_id", first}});
    s.run_until([&] { return done == 41; });
    CHECK(taken == 1);
    CHECK(created == 4);
    CHECK(full == 36);
    CHECK_FALSE(s.create().empty());
    CHECK(text(s.tool("create_sandbox"), "error_type") == "QuotaExceeded");
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
    temporary_folder root;
    config.sandbox_root = root.path;
    asio::io_context io;
    blocking_pool pool(1);
    scripted_backend backend;
    quotas limits(config);
    std::string id;
    {
        record_folder folder(root.path / "sandboxes");
        sandbox_manager first(config, io.get_executor(), backend, pool, folder, limits, handle_maker("here"));
        const auto work = run_coroutine(io, first.create({}, {"work", {}}));
        id = work.id;
        const auto half = run_coroutine(io, first.create({}, {"half", {}}));
        first.store().begin_delete(half.id);  // killed in the middle of a deletion
        caller session;
        session.session = "one";
        session.session_ends = true;
        run_coroutine(io, first.create(session, {"of a session", {}, true}));
        std::ofstream(first.places().files(work) / "a.txt") << "1";
        fs::create_directories(first.places().folder(first.handles().make("sbx")) /
                               "workspace");  // killed amid a creation
        const auto lost = run_coroutine(io, first.create({}, {"lost", {}}));
        fs::remove_all(first.places().folder(lost.id));
    }
    record_folder folder(root.path / "sandboxes");
    sandbox_manager second(config, io.get_executor(), backend, pool, folder, limits, handle_maker("here"));
    const auto all = second.list({});
    REQUIRE(all.size() == 1);
    CHECK(all[0].id == id);
    CHECK(all[0].status == "stopped");
    CHECK(fs::exists(second.places().files(all[0]) / "a.txt"));
    CHECK(second.places().all() == std::vector<std::string>{id});
}

namespace {

constexpr std::size_t megabyte = 1 << 20;

/// Uploads of one sandbox that go on side by side, under a quota of 20 MiB.
struct upload_stage : sandbox_stage {
    upload_stage() : sandbox_stage(small_quota()) {}

    static settings small_quota()
    {
        settings config = all_programs();
        config.sandbox_disk_quota = 20 * megabyte;
        return config;
    }

    // Null: refused for the quota.
    std::unique_ptr<file_upload> begin(std::optional<std::uint64_t> announced)
    {
        const auto name = "upload" + std::to_string(++count);
        std::unique_ptr<file_upload> upload;
        tries([&] { upload = run_coroutine(io, all->sandbox_files_->begin("", id, name, announced)); });
        return upload;
    }
    bool write(file_upload& to, std::size_t bytes)
    {
        return tries([&] { run_coroutine(io, to.write(std::string(bytes, 'x'))); });
    }
    bool finish(file_upload& one)
    {
        return tries([&] { run_coroutine(io, one.finish()); });
    }
    // Whether the quota allows it.
    bool tries(const std::function<void()>& call)
    {
        try {
            call();
            return true;
        } catch (const sandbox_error& refused) {
            CHECK(refused.type == "QuotaExceeded");
            return false;
        }
    }
    void measured()
    {
        all->sandboxes->measure_soon(all->sandboxes->find({}, id));
        run_until([&] { return all->sandboxes->find({}, id).disk >= 12 * megabyte; });
    }

    std::string id = create();
    int count = 0;
};

}  // namespace

TEST_CASE("ten uploads that announce their size take no more of the disk than the quota has")
{
    upload_stage s;
    std::vector<std::unique_ptr<file_upload>> accepted;
    for (int i = 0; i < 10; ++i)
        if (auto upload = s.begin(12 * megabyte)) accepted.push_back(std::move(upload));
    REQUIRE(accepted.size() == 1);
    CHECK(s.write(*accepted[0], 12 * megabyte - 10));
    CHECK_FALSE(s.begin(9 * megabyte));
    CHECK(s.write(*accepted[0], 10));
    CHECK(s.finish(*accepted[0]));
    CHECK_FALSE(s.begin(9 * megabyte));  // whether it was measured already or not
    s.measured();
    CHECK(s.begin(7 * megabyte));
}

TEST_CASE("ten uploads that do not announce their size are refused when they would pass the quota together")
{
    upload_stage s;
    std::vector<std::unique_ptr<file_upload>> going_on;
    for (int i = 0; i < 10; ++i) going_on.push_back(s.begin({}));
    for (std::size_t written = 0; written < 12 * megabyte; written += megabyte)
        for (auto& each : going_on)
            if (each && !s.write(*each, megabyte)) each.reset();  // gives its bytes back
    std::erase(going_on, nullptr);
    REQUIRE(going_on.size() == 1);
    CHECK(s.finish(*going_on[0]));
    CHECK(whole(disk_usage(s.files_of(s.id))) < 13 * megabyte);
}

TEST_CASE("an upload and what a run writes beside it take no more of the disk than the quota has")
{
    upload_stage s;
    auto upload = s.begin(12 * megabyte);
    REQUIRE(upload);
    CHECK(s.write(*upload, 12 * megabyte));
    const auto wrote = s.tool("execute_python_code",
                              {{"sandbox_id", s.id}, {"code", "open('by_run', 'wb').write(b'x' * (12 << 20))"}});
    REQUIRE(wrote.at("exit_code") == 0);
    CHECK_FALSE(s.finish(*upload));
    upload.reset();  // gives its bytes back
    CHECK_FALSE(fs::exists(s.files_of(s.id) / "upload1"));
    CHECK_FALSE(s.begin(9 * megabyte));
    CHECK(s.begin(7 * megabyte));
}

TEST_CASE("an upload sees what a run that goes on has written, also when both are small")
{
    upload_stage s;
    const auto busy = s.all->sandboxes->enter(s.all->sandboxes->find({}, s.id));
    auto upload = s.begin(megabyte);
    REQUIRE(upload);
    std::ofstream(s.files_of(s.id) / "by_run") << std::string(19 * megabyte + megabyte / 2, 'x');
    CHECK(s.write(*upload, megabyte));
    CHECK_FALSE(s.finish(*upload));
    upload.reset();
    CHECK_FALSE(s.begin(megabyte));
    fs::remove(s.files_of(s.id) / "by_run");
    const auto later = s.begin(megabyte);
    REQUIRE(later);
    CHECK(s.write(*later, megabyte));
    CHECK(s.finish(*later));
}

TEST_CASE("forks and snapshots that go on side by side take no more of the disk than the quota has")
{
    upload_stage s;
    CHECK(s.shell_in(s.id, "head -c 8000000 /dev/urandom > data").at("success") == true);
    s.run_until([&] { return s.all->sandboxes->find({}, s.id).disk >= 8'000'000; });
    int refused = 0, done = 0;
    for (const char* tool : {"fork_sandbox", "snapshot_sandbox", "fork_sandbox"})
        asio::co_spawn(s.io, s.start(tool, {{"sandbox_id", s.id}}), [&](std::exception_ptr, tool_result result) {
            ++done;
            if (result.is_error) refused += text(result.structured, "error_type") == "QuotaExceeded" ? 1 : 100;
        });
    s.run_until([&] { return done == 3; });
    CHECK(refused == 2);
}
