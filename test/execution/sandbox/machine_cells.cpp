#include "test/execution/sandbox/run_support.hpp"

// Cells of class machine; test/system/isolation/machines has what hostile programs try there.
namespace cmcp::sandbox::test {
namespace {

native_backend::options launcher_of_machines(machines_allowed allowed)
{
    native_backend::options options = launcher_under_test();
    options.launcher.machines = allowed;
    return options;
}

run_request in_machine(stage& s, std::string code)
{
    run_request request = s.bash(std::move(code));
    request.cell = "machine";
    request.principal = "ann";
    request.machine = true;
    request.limits.wall = std::chrono::seconds(60) * slowness();
    return request;
}

bool tested()
{
    if (!under_firejail()) return true;
    std::cout << "not tested: Firejail makes no machines\n";
    return false;
}

}  // namespace

TEST_CASE("a machine is root inside, and writes to every folder", "[run][cell]")
{
    if (!tested()) return;
    stage s(launcher_of_machines(machines_allowed::flat));
    s.run(in_machine(
        s,
        "id -u; for f in / /usr/bin /etc /var/lib /opt /root /run; do echo x > $f/cmcp-own || echo no $f; done; "
        "rm /usr/bin/nl && echo removed; ls ~/.machine | wc -l"));
    CHECK(s.output.out == "0\nremoved\n0\n");
    CHECK_FALSE(std::filesystem::exists("/usr/bin/cmcp-own"));
    CHECK(std::filesystem::exists("/usr/bin/nl"));
}

TEST_CASE("what a machine changed is in its workspace, and there for its next cell", "[run][cell]")
{
    if (!tested()) return;
    temporary_workspace kept;
    const auto in_next_cell = [&](std::string code) {
        stage s(launcher_of_machines(machines_allowed::flat));
        auto request = in_machine(s, std::move(code));
        request.workspace = kept.path;
        s.run(std::move(request));
        return s.output.out;
    };
    CHECK(in_next_cell("echo 7 > /etc/cmcp-seven; rm /usr/bin/nl; echo done") == "done\n");
    CHECK(std::filesystem::exists(kept.path + "/.machine/root/etc/cmcp-seven"));
    CHECK(in_next_cell("cat /etc/cmcp-seven; ls /usr/bin/nl 2> /dev/null; true") == "7\n");
}

TEST_CASE("the account of a run has the name that was asked for, and in a machine a home of its own", "[run][cell]")
{
    if (!tested()) return;
    const std::string look =
        "getent passwd 1000 | cut -d : -f 1,6; getent passwd sandbox; stat -c %u \"$(getent passwd 1000 | cut -d : -f "
        "6)\"";
    stage s(launcher_of_machines(machines_allowed::flat));
    auto named = in_machine(s, look + "; id -u; getent group sudo");
    named.user = "ann-1";
    s.run(std::move(named));
    const std::string owner = ::geteuid() == 0 ? "1000" : "0";
    CHECK(s.output.out == "ann-1:/home/ann-1\n" + owner + "\n0\nsudo:x:27:ann-1\n");
    stage without_root;
    auto strict = without_root.bash(look + "; id -un");
    strict.user = "ann-1";
    const auto home = strict.workspace_inside;
    without_root.run(std::move(strict));
    CHECK(without_root.output.out == "ann-1:" + home + "\n1000\nann-1\n");
}

TEST_CASE("a launcher gives no account a name that could be more than a name", "[run]")
{
    if (!tested()) return;
    stage s;
    for (const char* name : {"root", "a:0:0", "a\nroot::0:0", "../x", "A", "-a", "nobody", "1a"}) {
        auto request = s.bash("true");
        request.user = name;
        INFO(name);
        CHECK(s.run_now(std::move(request)).error.find("account") != std::string::npos);
    }
}

TEST_CASE("a launcher that may make no machines refuses one, whatever the server orders", "[run][cell]")
{
    if (!tested()) return;
    stage s;
    const auto refused = s.run_now(in_machine(s, "true"));
    CHECK(refused.error.find("SANDBOX_REQUIRE names strict") != std::string::npos);
}

TEST_CASE("a machine needs a workspace and a lasting cell", "[run][cell]")
{
    if (!tested()) return;
    stage s(launcher_of_machines(machines_allowed::nested));
    auto request = in_machine(s, "true");
    request.cell.clear();
    CHECK(s.run_now(request).error.find("be a machine") != std::string::npos);
    request = in_machine(s, "true");
    request.workspace.clear();
    CHECK(s.run_now(request).error.find("be a machine") != std::string::npos);
}

TEST_CASE("links in the place of a machine's changes are not followed", "[run][cell]")
{
    if (!tested()) return;
    for (const char* name : {"", "/root", "/root.work", "/usr", "/usr.work"}) {
        stage s(launcher_of_machines(machines_allowed::flat));
        const temporary_workspace outside;
        const std::string place = s.workspace.path + "/.machine" + name;
        if (*name != '\0') std::filesystem::create_directory(s.workspace.path + "/.machine");
        std::filesystem::create_directory_symlink(outside.path, place);
        const auto refused = s.run_now(in_machine(s, "touch /led /usr/led"));
        INFO(place);
        CHECK_FALSE(refused.error.empty());
        CHECK(std::filesystem::is_empty(outside.path));
    }
}

TEST_CASE("a program of a machine that calls as a foreign architecture ends alone", "[run][cell]")
{
    if (!tested()) return;
    stage s(launcher_of_machines(machines_allowed::flat));
    // mov eax, 21 (mount of i386); int 0x80; ret
    const std::string code =
        "import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(bytes([0xb8, 21, 0, 0, 0, 0xcd, 0x80, 0xc3])); "
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))(); print('survived')";
    s.run(in_machine(s, "python3 -c \"" + code +
                            "\" > out 2>&1; [ $? -gt 128 ] && grep -c survived out; ldd /bin/true > out; echo on"));
    CHECK(s.output.out == "0\non\n");
}

TEST_CASE("strict runs beside a machine are as strict as ever", "[run][cell]")
{
    if (!tested()) return;
    stage s(launcher_of_machines(machines_allowed::nested));
    s.run(in_machine(s, "true"));
    s.run(
        s.bash("id -u; grep CapEff /proc/self/status; touch /usr/x 2> /dev/null || echo held; unshare -U true 2> "
               "/dev/null || echo held"));
    CHECK(s.output.out == "1000\nCapEff:\t0000000000000000\nheld\nheld\n");
}

}  // namespace cmcp::sandbox::test
