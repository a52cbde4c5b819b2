#include "vault/stored_workspaces.hpp"
#include "config/settings.hpp"
#include "posix/bytes.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"
#include "text/handles.hpp"

#include <fstream>
#include <iterator>

using namespace cmcp;
using namespace cmcp::test;

namespace fs = std::filesystem;

namespace {

void put_text(const fs::path& file, const std::string& text)
{
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

std::string text_in(const fs::path& file)
{
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

struct vault_of_workspaces {
    temporary_folder root;
    settings config;
    workspaces places{root.path, false};
    sandbox_paths aside{root.path / "sandboxes"};
    stored_workspaces kept{config, places, snapshots::chunk_sealer(std::string(32, 'k'))};

    vault_of_workspaces() { fs::create_directories(aside.root()); }

    std::vector<fs::path> superseded() const
    {
        std::error_code none;
        std::vector<fs::path> all;
        for (fs::directory_iterator at(aside.root() / ".superseded", none), end; !none && at != end; at.increment(none))
            all.push_back(at->path());
        return all;
    }
};

awaitable<bool> wait_forever()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
    co_return true;
}

awaitable<std::string> reason_of_end(std::shared_ptr<workspace_use> use)
{
    std::string reason;
    try {
        auto work = wait_forever();
        co_await use->run(std::move(work));
    } catch (const sandbox_error& why) {
        reason = why.type;
    }
    co_return reason;
}

}  // namespace

TEST_CASE("all servers with one key make the same handle of a caller's name, which it does not show")
{
    vault_of_workspaces one, two;
    const auto handle = one.kept.handle_of("ann");
    CHECK(handle == two.kept.handle_of("ann"));
    CHECK(stored_workspaces::has(handle));
    CHECK(handle_maker::may_move(handle));
    CHECK(handle != one.kept.handle_of("bob"));
    CHECK(handle != one.kept.handle_of(""));
    CHECK(handle.find("ann") == std::string::npos);
    const snapshots::chunk_sealer other(std::string(32, 'o'));
    CHECK(handle != stored_workspaces(one.config, one.places, other).handle_of("ann"));
    CHECK(*one.kept.principal_of(handle) == "ann");
    CHECK(two.kept.principal_of(two.kept.handle_of("x") + "0") == nullptr);
}

TEST_CASE("a workspace that comes takes the place of files that are here, which go aside, and long outputs stay")
{
    vault_of_workspaces v;
    const std::string principal = GENERATE(std::string("ann"), std::string());
    const auto place = v.kept.place_of(v.kept.handle_of(principal));
    put_text(place.workspace() / "old", "old");
    put_text(place.workspace() / ".outputs/out", "output");
    write_kept(place.folder, stored_state{.epoch = 1, .owner = principal});
    const auto fresh = v.aside.make_passing() / "workspace";
    put_text(fresh / "new", "new");
    place.put(fresh, v.aside);
    CHECK(text_in(place.workspace() / "new") == "new");
    CHECK(text_in(place.workspace() / ".outputs/out") == "output");
    CHECK_FALSE(fs::exists(place.workspace() / "old"));
    REQUIRE(v.superseded().size() == 1);
    CHECK(v.superseded()[0].filename().string().starts_with(place.handle));
    CHECK(text_in(v.superseded()[0] / "workspace/old") == "old");
    CHECK(read_kept(place.folder).epoch == 0);
}

TEST_CASE("a workspace that another server has is here no more, but for long outputs")
{
    vault_of_workspaces v;
    const auto place = v.kept.place_of(v.kept.handle_of("ann"));
    put_text(place.workspace() / ".outputs/out", "output");
    place.set_aside(v.aside);
    CHECK(v.superseded().empty());
    put_text(place.workspace() / "a/b", "text");
    place.mark_used();
    place.set_aside(v.aside);
    REQUIRE(v.superseded().size() == 1);
    CHECK(text_in(v.superseded()[0] / "workspace/a/b") == "text");
    CHECK(text_in(place.workspace() / ".outputs/out") == "output");
    CHECK_FALSE(place.is_marked());
    CHECK_FALSE(v.places.is_used("ann"));
}

TEST_CASE("after a restart a server knows whose workspaces it has, whatever their names")
{
    vault_of_workspaces v;
    const std::string long_name(200, '/');
    for (const std::string& principal : {std::string("ann"), std::string(), long_name}) {
        const auto place = v.kept.place_of(v.kept.handle_of(principal));
        place.make();
        write_kept(place.folder, stored_state{.epoch = 2, .owner = principal});
    }
    put_text(v.places.locate({}).parent_path() / "callers/bob/workspace/file", "of before");
    put_text(v.places.locate({}).parent_path() / "callers/carl/workspace/.outputs/out", "output");
    std::set<std::string> names;
    for (const auto& each : v.kept.read_all()) names.insert(each.owner);
    CHECK(names == std::set<std::string>{"", "ann", long_name});
    CHECK(v.kept.never_kept() == std::vector<std::string>{"bob"});
}

TEST_CASE("a workspace has a record of its use, marked on the disk until all of it is kept")
{
    vault_of_workspaces v;
    const auto handle = v.kept.handle_of("ann");
    const auto place = v.kept.place_of(handle);
    CHECK_FALSE(v.kept.find(handle));
    v.kept.add(handle, 1000);
    CHECK(v.kept.find(handle)->last_used == 1000);
    CHECK(v.kept.find(handle)->status == "stopped");
    auto use = v.kept.enter(handle);
    CHECK(v.kept.is_busy(handle));
    CHECK(v.kept.find(handle)->status == "running");
    CHECK(place.is_marked());
    use.reset();
    CHECK_FALSE(v.kept.is_busy(handle));
    const auto used = v.kept.find(handle)->last_used;
    CHECK(used > 1000);
    v.kept.note_kept(handle, used - 1);
    CHECK(place.is_marked());
    v.kept.note_kept(handle, used);
    CHECK_FALSE(place.is_marked());
}

TEST_CASE("the next run alone hears what was lost, and runs end where the workspace goes")
{
    vault_of_workspaces v;
    asio::io_context io;
    const auto handle = v.kept.handle_of("ann");
    v.kept.add(handle, 1000);
    v.kept.tell_next(handle, "gone");
    auto use = v.kept.enter(handle);
    CHECK(use->take_note() == "gone");
    CHECK(use->take_note().empty());
    std::string reason;
    asio::co_spawn(io, reason_of_end(std::move(use)),
                   [&](const std::exception_ptr&, std::string why) { reason = why; });
    asio::co_spawn(io, v.kept.give_up(handle), [](const std::exception_ptr&) {});
    io.run();
    CHECK(reason == "NodeUnreachable");
    CHECK_FALSE(v.kept.find(handle));
    CHECK_FALSE(v.kept.is_busy(handle));
}
