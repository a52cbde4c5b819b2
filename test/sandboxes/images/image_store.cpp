#include "images/helper_program.hpp"
#include "images/image_source.hpp"
#include "images/tree_manifest.hpp"

#include "test/support/catch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>

namespace cmcp {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t plenty = 1 << 30;

std::string new_folder()
{
    std::string name = "/tmp/container-mcp-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return name;
}

/// A store and a small root beside it.
struct store_stage {
    store_stage()
    {
        for (const char* each : {"bin", "etc", "home/closed"}) fs::create_directories(root() / each);
        write(root() / "bin/tool", "a tool", 04711);
        write(root() / "etc/secret", "for root alone", 0600);
        fs::create_symlink("../../../../etc/shadow", root() / "etc/escape");
        fs::create_symlink("tool", root() / "bin/other");
        fs::create_symlink("/bin/tool", root() / "bin/absolute");
        ::mkfifo((root() / "pipe").c_str(), 0666);
        ::chmod((root() / "home/closed").c_str(), 0700);
    }
    ~store_stage()
    {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }
    store_stage(const store_stage&) = delete;
    store_stage& operator=(const store_stage&) = delete;

    static void write(const fs::path& file, const std::string& text, mode_t mode = 0644)
    {
        std::ofstream(file) << text;
        ::chmod(file.c_str(), mode);
    }
    fs::path root() const { return folder / "source"; }
    added_image add(const std::string& name) const
    {
        return add_image(store, {"dir:" + root().string(), name, false, plenty});
    }
    std::vector<std::string> entries() const
    {
        std::vector<std::string> all;
        for (const auto& each : fs::directory_iterator(store.folder())) all.push_back(each.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }
    mode_t mode(const image& of, const char* path) const
    {
        struct stat status {};
        return ::lstat((of.root / path).c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
    }

    fs::path folder = new_folder();
    image_store store{folder / "images"};
};

bool is_installed(const char* program)
{
    const bool there = fs::exists(fs::path("/usr/bin") / program);
    if (!there) std::cout << "not tested: " << program << " is not installed\n";
    return there;
}

}  // namespace

TEST_CASE("a name keeps its tag, and has the tag latest without one")
{
    CHECK(image_name("alpine") == "alpine:latest");
    CHECK(image_name("python:3.12-slim") == "python:3.12-slim");
    CHECK(image_name("127.0.0.1:5000/team/tool") == "127.0.0.1:5000/team/tool:latest");
    CHECK(image_name("127.0.0.1:5000/tool:1") == "127.0.0.1:5000/tool:1");
    for (const std::string wrong : {"", "../up", "-flag", "a b", "a\nb", "name:", "folder/", "a;b", "."})
        CHECK_THROWS_AS(image_name(wrong), image_error);
    CHECK_THROWS_AS(image_name(std::string(300, 'a')), image_error);
}

TEST_CASE("a digest has 64 lower-case digits")
{
    const std::string digits(64, 'a');
    CHECK(image_digest("sha256:" + digits) == digits);
    CHECK(image_digest(digits) == digits);
    for (const std::string& wrong :
         {digits + "a", digits.substr(1), std::string(64, 'A'), std::string(64, '/'), std::string()})
        CHECK_FALSE(image_digest(wrong));
}

TEST_CASE("a folder becomes an image that everybody may read, without what could harm")
{
    const store_stage here;
    const auto added = here.add("mine");
    const auto there = here.store.find("mine:latest");
    REQUIRE(there);
    CHECK(there->digest == added.of.digest);
    CHECK(there->files == 9);
    CHECK(here.mode(*there, "bin/tool") == 0755);
    CHECK(here.mode(*there, "etc/secret") == 0644);
    CHECK(here.mode(*there, "home/closed") == 0755);
    CHECK_FALSE(fs::exists(fs::symlink_status(there->root / "pipe")));
    CHECK(fs::read_symlink(there->root / "etc/escape") == "../../../../etc/shadow");
    CHECK(here.mode(*there, ".") == 0755);
}

TEST_CASE("a program is looked for along the image's PATH, within its root")
{
    const store_stage here;
    fs::create_symlink("/../../../../../../../../bin/sh", here.root() / "bin/sh");
    here.add("mine");
    image there = here.store.find("mine").value();
    there.environment = {{"PATH", "relative:/nowhere:/bin"}};
    CHECK(there.find_program("tool") == "/bin/tool");
    CHECK(there.find_program("other") == "/bin/other");
    CHECK(there.find_program("absolute") == "/bin/absolute");
    CHECK_FALSE(there.find_program("sh"));  // its link leads to the machine's
    there.environment = {{"PATH", "/etc"}};
    CHECK_FALSE(there.find_program("secret"));
    CHECK_FALSE(there.find_program("tool"));
}

TEST_CASE("equal content is one image with several names, which goes with the last")
{
    const store_stage here;
    const auto first = here.add("one");
    const auto second = here.add("two");
    CHECK(second.was_there);
    CHECK(second.of.digest == first.of.digest);
    CHECK(here.store.names_of(first.of.digest) == std::vector<std::string>{"one:latest", "two:latest"});
    REQUIRE(here.store.list().size() == 1);
    here.store.forget_name("one:latest");
    CHECK_FALSE(here.store.find("one"));
    CHECK(here.store.find("two"));
    here.store.remove(first.of.digest);
    CHECK_FALSE(here.store.find("two"));
    CHECK(here.entries() == std::vector<std::string>{".lock", "names"});
}

TEST_CASE("a name moves to a newer image, and the older one is told")
{
    const store_stage here;
    const auto old = here.add("mine");
    store_stage::write(here.root() / "bin/tool", "a better tool", 0755);
    const auto fresh = here.add("mine");
    CHECK(fresh.nameless == old.of.digest);
    CHECK(here.store.find("mine")->digest == fresh.of.digest);
    CHECK(here.store.find("sha256:" + old.of.digest));
}

TEST_CASE("verification says what differs from what was added")
{
    const store_stage here;
    const auto there = here.add("mine").of;
    const image of = here.store.find(there.digest).value();
    const auto before = read_manifest(read_text(of.root.parent_path() / image_files::manifest));
    CHECK(differences(before, describe_tree(of.root)).empty());
    store_stage::write(of.root / "bin/tool", "b tool", 0755);
    store_stage::write(of.root / "bin/new one", "more");
    fs::remove(of.root / "bin/other");
    ::chmod((of.root / "etc/secret").c_str(), 0666);
    const auto found_now = differences(before, describe_tree(of.root));
    REQUIRE(found_now.size() == 4);
    CHECK(found_now[0] == "missing: /bin/other");
    CHECK(found_now[1].starts_with("changed: /bin/tool (file 0755 "));
    CHECK(found_now[2].starts_with("changed: /etc/secret (file 0644 "));
    CHECK(found_now[3] == "added: /bin/new%20one");
}

TEST_CASE("an image that is too large leaves the store as it was")
{
    const store_stage here;
    here.add("mine");
    const auto before = here.entries();
    store_stage::write(here.root() / "large", std::string(2 << 20, 'x'));
    CHECK_THROWS_AS(add_image(here.store, {"dir:" + here.root().string(), "mine", false, 1 << 20}), image_error);
    CHECK(here.entries() == before);
}

TEST_CASE("leftovers of a command that was killed go with the next one")
{
    const store_stage here;
    here.add("mine");
    store_stage::write(here.store.make_passing() / "half", "of an image");
    here.add("mine");
    CHECK(here.entries().size() == 3);
}

TEST_CASE("sources that are none are refused before anything is done")
{
    const store_stage here;
    const auto refused = [&](const std::string& source, const std::string& name, bool insecure) {
        CHECK_THROWS_AS(add_image(here.store, {source, name, insecure, plenty}), image_error);
        CHECK_FALSE(fs::exists(here.store.folder() / "names" / "x:latest"));
    };
    refused("alpine", "x", false);
    refused("--help", "x", false);
    refused("docker-daemon:alpine", "x", false);
    refused("docker://elsewhere/x", "x", true);
    refused("docker://127.0.0.1.elsewhere/x", "x", true);
    refused("dir:" + here.root().string(), "", false);
    refused("dir:" + (here.folder / "absent").string(), "x", false);
    refused("dir:" + here.folder.string(), "x", false);  // the store itself is in it
}

TEST_CASE("a helper program writes in its folder alone, and no more than it may")
{
    const store_stage here;
    const fs::path folder = here.folder / "passing";
    fs::create_directory(folder);
    const auto run = [&](const std::string& command) { run_helper({{"/bin/sh", "-c", command}, folder, 1 << 20}); };
    run("echo inside > " + folder.string() + "/file");
    CHECK(fs::exists(folder / "file"));
    CHECK_THROWS_AS(run("echo outside > " + here.folder.string() + "/file"), image_error);
    CHECK_FALSE(fs::exists(here.folder / "file"));
    CHECK_THROWS_AS(run("head -c 2000000 /dev/zero > " + folder.string() + "/large"), image_error);
    const std::string forever =
        "i=0; while :; do head -c 100000 /dev/zero > " + folder.string() + "/$i; i=$((i+1)); done";
    CHECK_THROWS_WITH(run(forever), Catch::Matchers::Contains("SANDBOX_IMAGE_MAX_MB"));
    CHECK_THROWS_WITH(run_helper({{"no-such-program"}, folder, plenty}), Catch::Matchers::Contains("apt-get install"));
}

TEST_CASE("a layout of the image specification is unpacked with its configuration")
{
    if (!is_installed("skopeo") || !is_installed("umoci")) return;
    const store_stage here;
    const std::string layout = (here.folder / "layout").string();
    const auto umoci = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "umoci");
        run_helper({words, here.folder, plenty});
    };
    umoci({"init", "--layout", layout});
    umoci({"new", "--image", layout + ":one"});
    umoci({"insert", "--rootless", "--image", layout + ":one", here.root().string(), "/"});
    umoci({"config", "--image", layout + ":one", "--config.env", "GREETING=hello", "--config.env", "PATH=/bin",
           "--config.workingdir", "/home"});
    const auto added = add_image(here.store, {"oci:" + layout + ":one", "unpacked", false, plenty});
    const image of = here.store.find("unpacked").value();
    CHECK(of.digest == added.of.digest);
    CHECK(of.working_dir == "/home");
    CHECK(of.find_program("tool") == "/bin/tool");
    CHECK(std::count(of.environment.begin(), of.environment.end(),
                     std::pair<std::string, std::string>("GREETING", "hello")) == 1);
    CHECK(here.mode(of, "bin/tool") == 0755);
    CHECK(here.mode(of, "etc/secret") == 0644);
    const auto before = here.entries();
    CHECK_THROWS_AS(add_image(here.store, {"oci:" + layout + ":absent", "other", false, plenty}), image_error);
    CHECK(here.entries() == before);
}

}  // namespace cmcp
