#include "log/log.hpp"
#include "test/support/catch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

using namespace cmcp;

namespace {

// A process has one log, so a single test goes through its whole life.
struct folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("cmcp-log-" + std::to_string(::getpid()));
    folder() { std::filesystem::create_directories(path); }
    ~folder() { std::filesystem::remove_all(path); }
};

std::string content(const std::filesystem::path& name)
{
    std::ifstream in(name);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("the log goes to a private file that is bounded in size, and a level that is off writes nothing")
{
    folder logs;
    const auto file = logs.path / "deep" / "server.log";
    const std::string name = file.string();
    log::configure({.threshold = log::level::warning, .json_lines = true, .file = name});

    CHECK_FALSE(log::enabled(log::level::info));
    log::info("hidden");
    log::debug("hidden");
    log::warning("seen", {{"n", 1}});
    CHECK(content(file).find("hidden") == std::string::npos);
    CHECK(json::parse(content(file)).as_object().at("event").as_string() == "seen");

    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);

    std::filesystem::rename(file, logs.path / "moved.log");
    log::warning("into the moved file");
    log::reopen();
    log::warning("into the new file");
    CHECK(content(logs.path / "moved.log").find("into the moved file") != std::string::npos);
    CHECK(content(file).find("into the new file") != std::string::npos);
    CHECK(content(file).find("into the moved file") == std::string::npos);

    const std::string filler(4'000, 'x');
    for (int i = 0; i < 15'000; ++i) log::error("much", {{"filler", json::string(filler)}});
    std::uintmax_t total = 0;
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) total += entry.file_size();
    CHECK(total > 20u << 20);
    CHECK(total <= 41u << 20);
}

TEST_CASE("a log file that cannot be written is refused with the setting's name")
{
    std::string message;
    try {
        log::configure({.threshold = log::level::info, .json_lines = false, .file = "/proc/no/such.log"});
    } catch (const std::runtime_error& e) {
        message = e.what();
    }
    CHECK(message.find("LOG_FILE=/proc/no/such.log") == 0);
}
