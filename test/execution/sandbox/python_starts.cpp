#include "wire/python_start.hpp"

#include "test/support/catch.hpp"

using namespace cmcp::sandbox;

namespace {

python_start example(bool isolated)
{
    python_start start;
    start.interpreter = "/usr/bin/python3";
    start.isolated = isolated;
    start.program = "print(1)";
    start.arguments = {"/workspace", "-c"};
    return start;
}

}  // namespace

TEST_CASE("the arguments that start Python are read back as what they came from")
{
    for (const bool isolated : {true, false}) {
        const auto argv = example(isolated).argv();
        const auto back = python_start::read(argv);
        REQUIRE(back);
        CHECK(back->interpreter == "/usr/bin/python3");
        CHECK(back->isolated == isolated);
        CHECK(back->program == "print(1)");
        CHECK(back->arguments == std::vector<std::string>{"/workspace", "-c"});
        CHECK(back->argv() == argv);
    }
}

TEST_CASE("arguments that start Python in another way are not taken for ours")
{
    CHECK_FALSE(python_start::read({}));
    CHECK_FALSE(python_start::read({"/usr/bin/python3"}));
    CHECK_FALSE(python_start::read({"/usr/bin/python3", "-B", "-X", "utf8", "-c"}));
    CHECK_FALSE(python_start::read({"/usr/bin/python3", "-I", "-B", "-X", "utf8", "-m", "pip"}));
    CHECK_FALSE(python_start::read({"/usr/bin/python3", "-B", "-I", "-X", "utf8", "-c", "pass"}));
}

TEST_CASE("a clone stands in only for starts whose variables it can give effect to")
{
    CHECK(suits_a_clone(example(true), {{"PYTHONPATH", "/ignored"}}));
    CHECK(suits_a_clone(example(false), {{"PYTHONSAFEPATH", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}, {"HOME", "/app"}}));
    CHECK_FALSE(suits_a_clone(example(false), {{"PYTHONDONTWRITEBYTECODE", "1"}}));
    CHECK_FALSE(suits_a_clone(example(false), {{"PYTHONSAFEPATH", "1"}, {"PYTHONPATH", "/app/more"}}));
}
