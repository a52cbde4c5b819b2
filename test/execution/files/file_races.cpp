#include "test/execution/files/file_support.hpp"

#include <atomic>
#include <cstdio>
#include <thread>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// Does something again and again on a thread of its own while the test works.
class meanwhile {
public:
    template <class F>
    explicit meanwhile(F step)
        : thread_([this, step] {
              while (!stop_) step();
          })
    {
    }
    ~meanwhile()
    {
        stop_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

/// `swap` is by turns a folder and a link to the folder outside.
struct swapped_folder : file_scene {
    swapped_folder()
    {
        fs::create_directory(workspace / "real");
        put("real/secret.txt", "inside");
    }
    void step() const
    {
        const std::string at = workspace.string() + "/";
        std::error_code ignored;
        fs::create_symlink(base / "outside", at + "swap", ignored);
        ::unlink((at + "swap").c_str());
        ::rename((at + "real").c_str(), (at + "swap").c_str());
        ::rename((at + "swap").c_str(), (at + "real").c_str());
    }
};

constexpr int rounds = 1000;

}  // namespace

TEST_CASE("file reading never follows a folder swapped for a link to outside")
{
    swapped_folder scene;
    meanwhile race([&] { scene.step(); });
    int inside = 0;
    for (int i = 0; i < rounds; ++i) {
        try {
            const auto content = scene.read("swap/secret.txt").content;
            if (content != "inside") FAIL("read " << content);
            ++inside;
        } catch (const file_error&) {
        }
    }
    INFO(inside << " reads found the file");
    SUCCEED();
}

TEST_CASE("file reading never follows a file swapped for a link to outside")
{
    file_scene scene;
    const std::string leaf = (scene.workspace / "leaf").string();
    const std::string spare = (scene.workspace / "leaf.t").string();
    meanwhile race([&] {
        file_scene::put_at(spare, "inside");
        ::rename(spare.c_str(), leaf.c_str());
        std::error_code ignored;
        fs::create_symlink(scene.base / "outside/secret.txt", spare, ignored);
        ::rename(spare.c_str(), leaf.c_str());
    });
    for (int i = 0; i < rounds; ++i) {
        try {
            const auto content = scene.read("leaf").content;
            if (content == "CANARY") FAIL("the canary was read");
        } catch (const file_error&) {
        }
    }
    SUCCEED();
}

TEST_CASE("file writing, moving and deleting never act through a folder swapped for a link to outside")
{
    swapped_folder scene;
    {
        meanwhile race([&] { scene.step(); });
        for (int i = 0; i < rounds; ++i) {
            file_scene::refusal([&] { scene.write("swap/new.txt", "x"); });
            file_scene::refusal([&] { scene.write("swap/below/new.txt", "x"); });
            file_scene::refusal([&] { scene.move("hello.txt", "swap/moved.txt"); });
            file_scene::refusal([&] { scene.remove("swap/secret.txt"); });
            file_scene::refusal([&] { scene.list({"swap", "", true}); });
        }
    }
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("file writing lands inside or fails while folders on its way are renamed")
{
    file_scene scene;
    fs::create_directories(scene.workspace / "d1/d2");
    {
        const std::string at = scene.workspace.string() + "/";
        meanwhile race([&] {
            ::rename((at + "d1/d2").c_str(), (at + "d2x").c_str());
            ::rename((at + "d2x").c_str(), (at + "d1/d2").c_str());
        });
        for (int i = 0; i < rounds; ++i) file_scene::refusal([&] { scene.write("d1/d2/../../w.txt", "x"); });
    }
    CHECK_FALSE(fs::exists(scene.base / "w.txt"));
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("file readers see the old or the new content while a file is written, never a part")
{
    file_scene scene;
    const std::string one(50'000, '1');
    const std::string two(50'000, '2');
    scene.write("shared.txt", one);
    meanwhile race([&] {
        scene.write("shared.txt", two);
        scene.write("shared.txt", one);
    });
    for (int i = 0; i < 1000; ++i) {
        const auto content = scene.read("shared.txt").content;
        if (content != one && content != two) FAIL("a half-written file was seen");
    }
    SUCCEED();
}
