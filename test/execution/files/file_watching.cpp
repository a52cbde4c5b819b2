#include "files/file_watch.hpp"
#include "test/execution/files/file_support.hpp"
#include "test/support/doubling.hpp"

#include <boost/asio/io_context.hpp>

#include <fcntl.h>

#include <memory>
#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct watched_folder {
    file_scene scene;
    asio::io_context io;
    file_watch watch{io.get_executor(), 1'000'000};
    unique_fd folder{::open(scene.workspace.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    std::vector<std::shared_ptr<void>> observers;
    std::vector<int> times_called;

    void observe(std::size_t count, const std::string& name = {})
    {
        for (std::size_t i = 0; i < count; ++i) {
            times_called.push_back(0);
            observers.push_back(watch.observe("ann", folder.get(), name.empty() ? "name" + std::to_string(i) : name,
                                              [this, i] { ++times_called[i]; }));
        }
    }
};

}  // namespace

TEST_CASE("observers of one folder end in time linear in their number, whatever they observe")
{
    for (const std::string name : {"", "same"}) {
        CAPTURE(name);
        const auto observed = [&name](std::size_t size) {
            auto fresh = std::make_shared<watched_folder>();
            fresh->observe(size, name);
            return fresh;
        };
        CHECK(growth(
                  observed, [](std::shared_ptr<watched_folder>& of) { of->observers.clear(); }, 10'000) <
              linear_growth);
    }
}

TEST_CASE("a file that changes often at one moment is told once to each of its observers, and they in several steps")
{
    watched_folder of;
    of.observe(2000, "same");
    for (int i = 0; i < 50; ++i) of.scene.put("same", std::to_string(i));
    const auto all_called = [&of] { return std::ranges::all_of(of.times_called, [](int times) { return times > 0; }); };
    std::size_t most_in_step = 0;
    while (!all_called()) {
        const auto before = std::ranges::count(of.times_called, 0);
        of.io.run_one_for(std::chrono::seconds(60));
        most_in_step =
            std::max(most_in_step, static_cast<std::size_t>(before - std::ranges::count(of.times_called, 0)));
    }
    CHECK(most_in_step <= 500);
    CHECK(std::ranges::all_of(of.times_called, [](int times) { return times == 1; }));
}

TEST_CASE("a principal's observers leave room for those of others, and a handle that ends gives its place back")
{
    asio::io_context io;
    const file_scene scene;
    const file_root root(scene.workspace);
    file_watch watch(io.get_executor(), 8);
    const auto observe = [&](const char* principal) { return watch.observe(principal, root.descriptor(), "a", [] {}); };
    std::vector<std::shared_ptr<void>> anns;
    for (int i = 0; i < 4; ++i) anns.push_back(observe("ann"));
    CHECK_THROWS_AS(observe("ann"), std::system_error);
    const auto first = observe("bob");
    const auto second = observe("bob");
    CHECK_THROWS_AS(observe("bob"), std::system_error);
    CHECK(observe("eve"));
    anns.resize(2);
    CHECK(observe("ann"));
}

TEST_CASE("an observer may end itself or the watch while it is told")
{
    asio::io_context io;
    const file_scene scene;
    auto watch = std::make_unique<file_watch>(io.get_executor());
    const file_root root(scene.workspace);
    bool called = false;
    std::shared_ptr<void> first = watch->observe("ann", root.descriptor(), "a.txt", [&] {
        called = true;
        first.reset();
        watch.reset();
    });
    const auto second = watch->observe("ann", root.descriptor(), "a.txt", [] {});
    scene.put("a.txt", "x");
    while (io.run_one() > 0) {
    }
    CHECK(called);
}
