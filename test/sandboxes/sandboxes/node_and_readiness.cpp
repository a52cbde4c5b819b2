#include "app/readiness.hpp"
#include "sandboxes/node_name.hpp"
#include "text/handles.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct root_folder {
    root_folder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "cmcp-root-XXXXXX").string();
        path = ::mkdtemp(name.data());
        config.sandbox_root = path;
    }
    root_folder(const root_folder&) = delete;
    root_folder& operator=(const root_folder&) = delete;
    ~root_folder() { std::filesystem::remove_all(path); }

    std::filesystem::path path;
    settings config;
};

std::vector<std::string> problems_of(const settings& config, readiness::own_check own = {})
{
    asio::io_context io;
    readiness ready(config, io.get_executor(), std::move(own));
    return run_coroutine(io, ready.problems());
}

}  // namespace

TEST_CASE("the node's name is kept in SANDBOX_ROOT from the first start on")
{
    root_folder root;
    const auto first = node_name(root.config);
    CHECK_FALSE(first.empty());
    CHECK(handle_maker::cleaned(first) == first);
    CHECK(node_name(root.config) == first);
    std::ofstream(root.path / "node") << "of-the-last-container\n";
    CHECK(node_name(root.config) == "of-the-last-container");
    root.config.sandbox_node = "explicit";
    CHECK(node_name(root.config) == "explicit");
}

TEST_CASE("what is written in the node's file becomes a part of handles that fit")
{
    root_folder root;
    std::ofstream(root.path / "node") << "Odd name/../x";
    const handle_maker maker(node_name(root.config));
    CHECK(maker.node() == "odd-name----x");
    CHECK(handle_maker::fits("sbx", maker.make("sbx")));
    std::ofstream(root.path / "node", std::ios::trunc) << "";
    const auto another = node_name(root.config);
    CHECK_FALSE(another.empty());
    CHECK(node_name(root.config) == another);
}

TEST_CASE("a server whose disk, launcher and interpreter work is ready")
{
    root_folder root;
    CHECK(problems_of(root.config).empty());
    CHECK(std::filesystem::is_empty(root.path));
}

TEST_CASE("what keeps runs from working is named with the setting")
{
    root_folder root;
    const auto interpreter = root.path / "python";
    std::filesystem::create_symlink("/bin/true", interpreter);
    root.config.python_interpreter = interpreter.string();
    root.config.sandbox_root = root.path / "data";
    asio::io_context io;
    readiness ready(root.config, io.get_executor(), [] { return std::vector<std::string>{"The launcher is gone."}; });
    std::filesystem::remove(interpreter);
    const auto all = run_coroutine(io, ready.problems());
    REQUIRE(all.size() == 3);
    CHECK(all[0].find("SANDBOX_ROOT is not there") == 0);
    CHECK(all[1].find("PYTHON_INTERPRETER is gone") == 0);
    CHECK(all[2] == "The launcher is gone.");
}

TEST_CASE("many who ask at once share one look at the disk, and each hears of the server itself")
{
    root_folder root;
    root.config.sandbox_root = root.path / "data";
    std::filesystem::create_directory(root.config.sandbox_root);
    int own_checks = 0;
    asio::io_context io;
    readiness ready(root.config, io.get_executor(), [&] {
        if (own_checks++ == 0) std::filesystem::remove(root.config.sandbox_root);  // another look would see it
        return std::vector<std::string>();
    });
    int answers = 0;
    for (int i = 0; i < 50; ++i)
        asio::co_spawn(io, ready.problems(),
                       [&answers](std::exception_ptr failure, const std::vector<std::string>& problems) {
                           if (!failure && problems.empty()) ++answers;
                       });
    io.run();
    CHECK(answers == 50);
    CHECK(own_checks == 50);
}
