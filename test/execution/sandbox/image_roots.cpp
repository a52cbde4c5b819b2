#include "jail/program_view.hpp"
#include "jail/system_files.hpp"

#include "test/execution/sandbox/doors_support.hpp"

#include <sys/stat.h>

#include <fstream>

// Runs whose root is an image: here a few programs of this machine, and files that it does not have.
namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

const std::string digest(64, '1'), other_digest(64, '2'), link_digest(64, '3'), inner_link_digest(64, '4');

void copy_into(const fs::path& root, const std::string& path)
{
    fs::create_directories((root / path.substr(1)).parent_path());
    fs::copy_file(path, root / path.substr(1), fs::copy_options::skip_existing);
}

void make_root(const fs::path& root)
{
    fs::create_directories(root);
    for (const std::string folder : system_folders)
        if (fs::is_symlink(folder)) {
            fs::create_directories(root / fs::path(folder.substr(1)).parent_path());
            fs::create_directories(root / fs::read_symlink(folder));
            fs::create_symlink(fs::read_symlink(folder), root / folder.substr(1));
        }
    const auto files = resolve_view({false, {"bash", "cat", "ls", "sleep", "touch", "id", "setsid"}}, {});
    for (const auto& path : files.programs) copy_into(root, path);
    for (const auto& path : files.libraries) copy_into(root, path);
    for (const auto& [path, target] : files.links) {
        fs::create_directories((root / path.substr(1)).parent_path());
        std::error_code exists;
        fs::create_symlink(target, root / path.substr(1), exists);
    }
    std::ofstream(root / "only-here") << "the image's own\n";
}

/// A stage with a store of images beside its workspace, for which the launcher has the right to enter.
struct image_stage : stage {
    explicit image_stage(const temporary_workspace& folder) : stage(options_for(folder)), images(folder.path)
    {
        make_root(root());
    }
    static native_backend::options options_for(const temporary_workspace& folder)
    {
        native_backend::options options = launcher_under_test();
        options.launcher.images = folder.path;
        fs::create_directory(fs::path(folder.path) / "data");
        std::ofstream(fs::path(folder.path) / "data/table") << "of the machine's owner\n";
        options.launcher.data = folder.path + "/data";
        return options;
    }
    fs::path root(const std::string& of = digest) const { return images / of / "root"; }
    run_request in_image(std::string code, std::string of = digest)
    {
        run_request request = request_of(std::move(code));
        request.image = std::move(of);
        return request;
    }
    run_request request_of(std::string code)
    {
        run_request wanted = bash(std::move(code));
        wanted.workspace_inside = "/app/results";
        return wanted;
    }
    std::string says(std::string code)
    {
        run(in_image(std::move(code)));
        return output.out;
    }
    std::string refusal_of(std::string image) { return run_now(in_image("true", std::move(image))).error; }

    fs::path images;
};

}  // namespace

TEST_CASE("a run in an image has the image's files and none of the machine's", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    CHECK(s.says("cat /only-here; ls /usr/bin/python3 /home 2>/dev/null; echo on") == "the image's own\non\n");
    CHECK(s.says("pwd; echo x > file; cat file; touch /tmp/y && echo tmp") == "/app/results\nx\ntmp\n");
    CHECK(s.says("for f in / /usr /etc /usr/bin /app /dev /only-here; do touch $f/x $f 2>/dev/null && echo $f; done; "
                 "echo on") == "on\n");
    CHECK(s.says("id -u; id -un") == "1000\nsandbox\n");
    CHECK(s.says("exec 3>/dev/null && echo null; ls /dev/fd/0; [ -c /dev/urandom ] && echo random") ==
          "null\n/dev/fd/0\nrandom\n");
    CHECK(s.says("while read -r name value; do case $name in NoNewPrivs:|Seccomp:|CapBnd:) echo $value;; esac; done < "
                 "/proc/self/status") == "0000000000000000\n1\n2\n");
}

TEST_CASE("a run in an image reads the data folder", "[run][image][data]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    fs::create_directory(s.root() / "data");
    std::ofstream(s.root() / "data/hidden") << "of the image\n";
    CHECK(s.says("cat /data/*; touch /data/x 2>/dev/null || echo no") == "of the machine's owner\nno\n");
}

TEST_CASE("places that an image has as links or files are folders of the run", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    fs::create_symlink("/usr", s.root() / "tmp");
    fs::create_symlink("../../../../../..", s.root() / "app");
    std::ofstream(s.root() / "proc") << "a file";
    fs::create_directory(s.root() / "dev");
    fs::create_symlink("/etc", s.root() / "dev/shm");
    std::ofstream(s.root() / "dev/null") << "not null";
    CHECK(s.says("touch /tmp/x /dev/shm/y file && ls /tmp /dev/shm; pwd; cat /dev/null; [ -e /proc/self/status ] && "
                 "echo proc") == "/dev/shm:\ny\n\n/tmp:\nx\n/app/results\nproc\n");
    CHECK(fs::exists(fs::path(s.workspace.path) / "file"));
}

TEST_CASE("links of an image's /etc lead nowhere out of it", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    const fs::path secret = fs::path(folder.path) / "secret";
    std::ofstream(secret) << "root:x:0:0:a secret of the machine:/:/bin/sh\n";
    fs::create_directory(s.root() / "etc");
    SECTION("of a file")
    {
        fs::create_symlink("../../.." + secret.string(), s.root() / "etc/passwd");
        fs::create_symlink(secret, s.root() / "etc/group");
        CHECK(s.says("cat /etc/passwd /etc/group") ==
              "sandbox:x:1000:1000:sandbox:/app/results:/bin/sh\nsandbox:x:1000:\n");
    }
    SECTION("of the folder")
    {
        fs::remove(s.root() / "etc");
        fs::create_symlink(folder.path, s.root() / "etc");
        CHECK(s.says("ls /etc/ 2>/dev/null; echo on") == "on\n");
    }
    SECTION("a pipe in place of a file")
    {
        ::mkfifo((s.root() / "etc/passwd").c_str(), 0666);
        CHECK(s.says("cat /etc/passwd") == "sandbox:x:1000:1000:sandbox:/app/results:/bin/sh\n");
    }
    SECTION("the image's own accounts stay")
    {
        std::ofstream(s.root() / "etc/passwd") << "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n";
        CHECK(s.says("cat /etc/passwd") ==
              "sandbox:x:1000:1000:sandbox:/app/results:/bin/sh\nroot:x:0:0::/root:/bin/sh\n");
    }
}

TEST_CASE("an image is named by its digest and by nothing else", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    fs::create_directory_symlink(s.root().parent_path(), s.images / link_digest);
    fs::create_directory(s.images / inner_link_digest);
    fs::create_directory_symlink("/", s.images / inner_link_digest / "root");
    for (const std::string& name : {std::string("../") + digest, digest + "/../" + digest, digest.substr(1),
                                    digest + "1", std::string(64, 'G'), std::string("/"), std::string(".")})
        CHECK(s.refusal_of(name).find("read the digest of the image") != std::string::npos);
    for (const std::string& link : {link_digest, inner_link_digest})
        CHECK(s.refusal_of(link).find("open image") != std::string::npos);
    CHECK(s.refusal_of(other_digest).find("container-mcp image list") != std::string::npos);
    stage without;
    run_request request = without.bash("true");
    request.image = digest;
    CHECK(without.run_now(std::move(request)).error.find("read the digest of the image") != std::string::npos);
}

TEST_CASE("an image that was removed and added again is seen as it is now", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    CHECK(s.says("cat /only-here") == "the image's own\n");
    fs::remove_all(s.root());
    CHECK(s.refusal_of(digest).find("not in the store") != std::string::npos);
    make_root(s.root());
    std::ofstream(s.root() / "only-here") << "another\n";
    CHECK(s.says("cat /only-here") == "another\n");
}

TEST_CASE("a lasting cell has one image, and its programs share it", "[image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    make_root(s.root(other_digest));
    const auto in_cell = [&](std::string code, const std::string& of) {
        run_request request = s.in_image(std::move(code), of);
        request.cell = "one";
        request.principal = "someone";
        return s.run_now(std::move(request));
    };
    CHECK(in_cell("cat /only-here; echo kept > /tmp/kept", digest).error.empty());
    CHECK(s.output.out == "the image's own\n");
    in_cell("cat /tmp/kept", digest);
    CHECK(s.output.out == "kept\n");
    in_cell("setsid sleep 1000 >/dev/null 2>&1 &", digest);
    CHECK(in_cell("true", other_digest).error.find("have another image") != std::string::npos);
    CHECK(in_cell("true", {}).error.find("have another image") != std::string::npos);
    in_cell("kill -9 -1", digest);
    run_result anew;
    do  // for a moment those that were killed are seen, or another program that is to stand by
        anew = in_cell("cat /tmp/kept", other_digest);
    while (anew.error.find("have another image") != std::string::npos);
    CHECK(anew.error.empty());
    CHECK(s.output.out.empty());
}

TEST_CASE("a program of an image looks names up at its cell's resolver, not at the image's", "[run][image]")
{
    if (not_held("Firejail's runs have no images")) return;
    const temporary_workspace folder;
    image_stage s(folder);
    door_keeper doors(s);
    fs::create_directory(s.root() / "etc");
    if (GENERATE(false, true))
        fs::create_symlink("../run/resolv.conf", s.root() / "etc/resolv.conf");
    else
        std::ofstream(s.root() / "etc/resolv.conf") << "nameserver 192.0.2.1\n";
    run_request wanted = s.in_image("exec 3<>/dev/tcp/some.name/443 && cat <&3");
    wanted.cell = "one";
    wanted.doors = {443};
    beside run(s, std::move(wanted));
    doors.await_calls(1);
    name_server names(doors.door(0));
    const visitor guest = accept_at(doors.door(2));
    guest.say("greeting\n");
    ::shutdown(guest.socket.get(), SHUT_RDWR);
    run.await_end();
    CHECK(run.output.out == "greeting\n");
    const auto questions = names.end();
    CHECK(std::ranges::count(questions, "some.name.") > 0);
}

}  // namespace cmcp::sandbox::test
