#include "objects/object_store.hpp"
#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <fcntl.h>
#include <sys/prctl.h>

#include <filesystem>
#include <iostream>

using namespace cmcp;
using test::run_coroutine;

namespace {

const std::string clients = CMCP_SOURCE_DIR "/test/clients";
const std::string node = clients + "/node_modules/.bin/node";

/// The storage of test/clients, which verifies signatures by Amazon's library. It ends with the object.
class node_storage {
public:
    node_storage()
    {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        const unique_fd written(ends[1]);
        from_.reset(ends[0]);
        std::vector<std::string> words{
            node,          clients + "/lib/object_storage.mjs", "--page-size", "3", "--key-id", "known", "--secret",
            "of/this+test"};
        const auto arguments = pointers(words);
        child_ = ::fork();
        if (child_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(written.get(), STDOUT_FILENO);
            ::execv(node.c_str(), arguments.data());
            ::_exit(127);
        }
    }
    node_storage(const node_storage&) = delete;
    node_storage& operator=(const node_storage&) = delete;
    ~node_storage()
    {
        ::kill(child_, SIGKILL);
        collect_child(child_);
    }

    /// The port in the line that it prints when it listens.
    std::uint16_t port() const
    {
        std::string line;
        for (char c = 0; ::read(from_.get(), &c, 1) == 1 && c != '\n';) line += c;
        const auto at = line.find("127.0.0.1:");
        INFO(line);
        REQUIRE(at != std::string::npos);
        return static_cast<std::uint16_t>(std::stoul(line.substr(at + 10)));
    }

private:
    unique_fd from_;
    pid_t child_ = -1;
};

std::string failure_of(asio::io_context& io, object_store& store)
{
    try {
        run_coroutine(io, store.list(""));
    } catch (const object_store_error& problem) {
        return problem.code;
    }
    return "no failure";
}

}  // namespace

TEST_CASE("a library of Amazon's verifies all requests of the client")
{
    if (!std::filesystem::exists(clients + "/node_modules/@smithy/signature-v4") || !std::filesystem::exists(node)) {
        std::cout << "not tested: the packages of test/clients are not installed\n";
        return;
    }
    const node_storage storage;
    asio::io_context io;
    object_store_options options;
    options.to = {.secure = false, .host = "127.0.0.1", .port = storage.port(), .bucket = "snapshots", .prefix = "p/"};
    options.by = {"known", "of/this+test"};
    object_store store(io.get_executor(), options);

    const std::vector<std::string> keys{"!'()*~", "a b/c+d=&?#%", "plain", "z//..", "\xc3\xa9"};
    for (const auto& key : keys) CHECK(run_coroutine(io, store.create(key, "bytes of " + key)));
    CHECK_FALSE(run_coroutine(io, store.create("plain", "others")));
    CHECK(run_coroutine(io, store.list("")) == keys);
    CHECK(run_coroutine(io, store.list("a b/")) == std::vector<std::string>{"a b/c+d=&?#%"});
    for (const auto& key : keys) CHECK(run_coroutine(io, store.get(key)) == "bytes of " + key);
    run_coroutine(io, store.put("plain", std::string("\0\xff", 2)));
    CHECK(run_coroutine(io, store.get("plain")) == std::string("\0\xff", 2));
    CHECK(run_coroutine(io, store.has("plain")));
    run_coroutine(io, store.remove("plain"));
    run_coroutine(io, store.remove("plain"));
    CHECK_FALSE(run_coroutine(io, store.has("plain")));
    CHECK(run_coroutine(io, store.get("plain")) == std::nullopt);

    options.by.secret = "of/this+tesT";
    object_store other(io.get_executor(), options);
    CHECK(failure_of(io, other) == "SignatureDoesNotMatch");
    options.by.key_id = "unknown";
    object_store stranger(io.get_executor(), options);
    CHECK(failure_of(io, stranger) == "InvalidAccessKeyId");
    options.by = {"known", "of/this+test"};
    options.region = "elsewhere";
    object_store abroad(io.get_executor(), options);
    CHECK(failure_of(io, abroad) == "AuthorizationHeaderMalformed");
}
