#include "app/optional_helpers.hpp"

#include "runs/error_output.hpp"
#include "test/execution/runs/run_support.hpp"

#include <algorithm>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::vector<missing_helper> helpers_where_python_says(const std::string& text, int exit_code = 0)
{
    asio::io_context io;
    scripted_backend backend;
    backend.prints = {{sandbox::stream::out, text}};
    backend.result = scripted_backend::ended(exit_code);
    return run_coroutine(io, find_missing_helpers(backend, "/usr/bin/python3"));
}

const missing_helper* helper_named(const std::vector<missing_helper>& all, const std::string& name)
{
    const auto helper = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    return helper == all.end() ? nullptr : &*helper;
}

}  // namespace

TEST_CASE("optional helpers that are missing are named with their package and what does not work without them")
{
    const auto missing = helpers_where_python_says("asked\nlxml\nnumpy\n");
    REQUIRE(helper_named(missing, "lxml") != nullptr);
    CHECK(helper_named(missing, "lxml")->package == "python3-lxml");
    CHECK(helper_named(missing, "lxml")->use.find("web_scrape") == 0);
    CHECK(helper_named(missing, "numpy") != nullptr);
    CHECK(helper_named(missing, "bs4") == nullptr);
    CHECK(helper_named(missing, "pip") == nullptr);
    CHECK((helper_named(missing, "pdftotext") == nullptr) == std::filesystem::exists("/usr/bin/pdftotext"));
}

TEST_CASE("doctor's row about helpers says what does not work and one command that brings all of it")
{
    asio::io_context io;
    scripted_backend backend;
    backend.prints = {{sandbox::stream::out, "asked\npip\nbs4\n"}};
    backend.result = scripted_backend::ended(0);
    const auto row = run_coroutine(io, examine_helpers(backend, "/usr/bin/python3"));
    INFO(row.detail);
    CHECK(row.is == sandbox::layer::state::degraded);
    CHECK(row.detail.find("without pip install_packages_in_sandbox installs no Python packages; without bs4 web_scrape "
                          "reads no HTML") == 0);
    CHECK(row.detail.find(": apt-get install python3-pip python3-bs4") != std::string::npos);
}

TEST_CASE("an interpreter that does not run is no missing module")
{
    const auto missing = helpers_where_python_says("", 127);
    for (const char* name : {"pip", "bs4", "lxml", "numpy"}) CHECK(helper_named(missing, name) == nullptr);
}

TEST_CASE("a module that was not found is named with what brings it")
{
    const std::string trace = "Traceback (most recent call last):\n  File \"<script>\", line 1, in <module>\n";
    const std::string numpy = trace + "ModuleNotFoundError: No module named 'numpy'\n";
    CHECK(missing_module_hint(numpy, module_source::server) ==
          "There is no module numpy here: install the package python3-numpy on the server.");
    const auto either = missing_module_hint(numpy, module_source::server_or_sandbox);
    CHECK(either.find("python3-numpy") != std::string::npos);
    CHECK(either.find("install_packages_in_sandbox") != std::string::npos);
    const auto pillow = missing_module_hint(
        trace + "ModuleNotFoundError: No module named 'PIL.Image'; 'PIL' is not a package", module_source::sandbox);
    CHECK(pillow ==
          "There is no module PIL here: install_packages_in_sandbox with pillow brings it, if it is a package.");
    CHECK(missing_module_hint(trace + "ModuleNotFoundError: No module named 'mine'", module_source::server)
              .find("mine") != std::string::npos);
    CHECK(missing_module_hint(trace + "ValueError: No module named 'numpy'", module_source::server).empty());
    CHECK(missing_module_hint(numpy + "done\n", module_source::server).empty());
    CHECK(missing_module_hint("", module_source::server).empty());
}
