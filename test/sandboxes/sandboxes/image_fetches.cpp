#include "sandboxes/image_fetches.hpp"

#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "images/image_fetcher.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/fetch_problem.hpp"
#include "test/execution/runs/run_support.hpp"
#include "test/support/eventually.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

using namespace cmcp;

namespace {

// Waits at the gate for a word, then makes a layout, or says why there is none.
constexpr const char* skopeo = R"(#!/bin/sh
for last; do :; done
read -r word < "$GATE"
if [ "$word" = fail ]; then
    echo 'time="now" level=fatal msg="reading manifest: \"x\": manifest unknown"'>&2
    exit 1
fi
layout=${last#oci:}
mkdir -p "${layout%:image}"
printf '{"manifests": [{"digest": "sha256:%064d"}]}' 7 > "${layout%:image}/index.json"
)";

constexpr const char* umoci = R"(#!/bin/sh
for last; do :; done
mkdir -p "$last/bin"
echo tool > "$last/bin/tool"
)";

struct call {
    explicit call(asio::io_context& context) : io(context.get_executor()) {}
    bool says(const char* text) const { return io.all().find(text) != std::string::npos; }

    test::recording_io io;
    asio::cancellation_signal ends;
    bool over = false, cancelled = false;
    std::string refusal, type;
};

/// Fetches by the real fetcher, with scripts in place of skopeo and umoci.
struct fetch_stage {
    explicit fetch_stage(std::vector<std::string> pulls = {"python:*", "tool"})
    {
        write("skopeo", skopeo);
        write("umoci", umoci);
        ::mkfifo(gate().c_str(), 0600);
        config.sandbox_root = folder.path;
        config.sandbox_image_pull = std::move(pulls);
        choice = std::make_unique<image_choice>(config);
        fetcher_options options{
            (folder.path / "images").string(), 1 << 30, config.sandbox_image_store_size, config.sandbox_image_pull, {}};
        options.variables = {"PATH=" + folder.path.string() + ":/usr/bin:/bin", "GATE=" + gate()};
        fetches = std::make_unique<image_fetches>(config, io.get_executor(), *choice,
                                                  fetcher_program(CMCP_BUILD_DIR "/container-mcp", options));
    }
    ~fetch_stage() { test::run_coroutine(io, fetches->stop()); }
    fetch_stage(const fetch_stage&) = delete;
    fetch_stage& operator=(const fetch_stage&) = delete;

    void write(const char* name, const char* script) const
    {
        std::ofstream(folder.path / name) << script;
        ::chmod((folder.path / name).c_str(), 0755);
    }
    std::string gate() const { return (folder.path / "gate").string(); }
    void begin(call& one, const std::string& image)
    {
        const auto end = [&one](std::exception_ptr failure) {
            one.over = true;
            try {
                if (failure) std::rethrow_exception(failure);
            } catch (const sandbox_error& refused) {
                one.refusal = refused.what();
                one.type = refused.type;
            } catch (const boost::system::system_error&) {
                one.cancelled = true;
            }
        };
        asio::co_spawn(io, fetches->provide(one.io, image), asio::bind_cancellation_slot(one.ends.slot(), end));
    }
    template <class Condition>
    void until(Condition holds)
    {
        REQUIRE(test::eventually(io, holds));
    }
    // The opening waits for the stand-in of skopeo, so a second fetch would wait at the gate for ever.
    void open_gate(const char* word) const { std::ofstream(gate()) << word << '\n'; }
    bool stored(const std::string& name) const { return image_store(folder.path / "images").find(name).has_value(); }

    test::temporary_folder folder;
    settings config;
    asio::io_context io;
    std::unique_ptr<image_choice> choice;
    std::unique_ptr<image_fetches> fetches;
};

}  // namespace

TEST_CASE("calls that want one image share its fetch, however they write its name, and are told how it goes")
{
    fetch_stage s;
    call first(s.io), second(s.io);
    s.begin(first, "python:3");
    s.begin(second, "library/python:3");
    s.until([&] { return first.says("fetching") && second.says("fetching"); });
    s.open_gate("on");
    s.until([&] { return first.over && second.over; });
    CHECK(first.refusal + second.refusal == "");
    CHECK(first.says("Fetching python:3: "));
    CHECK(s.stored("python:3"));
    CHECK(s.choice->check("library/python:3") == "python:3");
    call later(s.io);
    s.begin(later, "python:3");
    s.until([&] { return later.over; });
    CHECK(later.io.messages.empty());
}

TEST_CASE("a call that is cancelled leaves the fetch to the others")
{
    fetch_stage s;
    call gone(s.io), stays(s.io);
    s.begin(gone, "tool");
    s.begin(stays, "tool");
    s.until([&] { return stays.says("fetching"); });
    gone.ends.emit(asio::cancellation_type::terminal);
    s.until([&] { return gone.over; });
    CHECK(gone.cancelled);
    CHECK_FALSE(stays.over);
    s.open_gate("on");
    s.until([&] { return stays.over; });
    CHECK(stays.refusal.empty());
    CHECK(s.stored("tool"));
}

TEST_CASE("a fetch that fails says why, and is not begun again at once")
{
    fetch_stage s;
    call first(s.io), second(s.io);
    s.begin(first, "tool");
    s.until([&] { return first.says("fetching"); });
    s.open_gate("fail");
    s.until([&] { return first.over; });
    CHECK(first.type == "ImageNotFetched");
    CHECK(first.refusal.find("reading manifest: \"x\": manifest unknown. Check its name") != std::string::npos);
    s.begin(second, "tool");
    s.until([&] { return second.over; });
    CHECK(second.refusal == first.refusal);
    CHECK(second.io.messages.empty());
    CHECK_THROWS_AS(s.choice->check("tool"), sandbox_error);
}

TEST_CASE("images are fetched one after the other, and a server that stops ends them")
{
    fetch_stage s;
    call first(s.io), second(s.io);
    s.begin(first, "python:1");
    s.until([&] { return first.says("fetching"); });
    s.begin(second, "python:2");
    s.until([&] { return second.says("waiting for another image"); });
    CHECK_FALSE(second.says("fetching"));
    s.open_gate("on");
    s.until([&] { return first.over && second.says("fetching"); });
    test::run_coroutine(s.io, s.fetches->stop());
    CHECK_FALSE(s.stored("python:2"));
}

TEST_CASE("names outside of SANDBOX_IMAGE_PULL are not fetched, and the refusal names the setting")
{
    fetch_stage s;
    CHECK_FALSE(s.choice->to_fetch("node"));
    CHECK_FALSE(s.choice->to_fetch(""));
    CHECK_FALSE(s.choice->to_fetch("native"));
    CHECK(s.choice->to_fetch("library/tool") == "tool:latest");
    CHECK_THROWS_WITH(s.choice->check("evil:1"), Catch::Matchers::Contains("lets the server fetch python:*, tool."));
    s.config.sandbox_images = {"tool=native"};
    CHECK_THROWS_AS(s.choice->check("tool"), sandbox_error);  // never this machine's programs
    s.config.sandbox_image_pull = {"127.0.0.1:5000/x"};
    CHECK_THROWS_AS(image_choice(s.config), config_error);
}

TEST_CASE("the fetcher looks at the list itself, and at what the store holds")
{
    fetch_stage s;
    fetcher_options options{(s.folder.path / "images").string(), 1 << 30, 0, {"tool"}, {}};
    const auto refusal_of = [&](const char* name) {
        image_fetches fetches(s.config, s.io.get_executor(), *s.choice,
                              fetcher_program(CMCP_BUILD_DIR "/container-mcp", options));
        call one(s.io);
        asio::co_spawn(s.io, fetches.provide(one.io, name), [&one](std::exception_ptr failure) {
            one.over = true;
            CHECK_THROWS_AS(std::rethrow_exception(failure), sandbox_error);
            try {
                std::rethrow_exception(failure);
            } catch (const sandbox_error& refused) {
                one.refusal = refused.what();
            }
        });
        s.until([&] { return one.over; });
        return one.refusal;
    };
    CHECK(refusal_of("python:3").find("SANDBOX_IMAGE_PULL does not allow") != std::string::npos);
    CHECK(refusal_of("tool").find("SANDBOX_IMAGE_STORE_MB") != std::string::npos);
}

TEST_CASE("a refusal of the egress guard is the reason that is told")
{
    const egress_refusal refused{"10.0.0.1", 443, "private", "10.0.0.1:443 is refused: that address is not public."};
    const auto text = fetch_problem("x:1", "skopeo failed; not found", {refused});
    CHECK(text.find("fetched. 10.0.0.1:443 is refused: that address is not public. It is not tried") !=
          std::string::npos);
    const auto denied = fetch_problem("x:1", "msg=\"denied: requested access\"", {});
    CHECK(denied.find("skopeo login") != std::string::npos);
}
