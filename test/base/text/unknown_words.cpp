#include "test/support/catch.hpp"
#include "text/words.hpp"

using namespace cmcp;

namespace {

const std::vector<std::string> known_flags{"--host", "--port", "--sandbox-root", "--log-level", "--help", "-h"};
const std::vector<std::string> known_commands{"serve", "stdio", "doctor"};

std::string sentences_about(const std::vector<std::string>& unknown)
{
    return tell_unknown_words("program", unknown, known_flags, known_commands);
}

constexpr std::string_view last_line = "`program --help` lists what there is\n";

}  // namespace

TEST_CASE("an unknown flag is named with the nearest one, without its value")
{
    CHECK(sentences_about({"--prot", "9000"}) ==
          "program: --prot is no flag; the nearest is --port\n" + std::string(last_line));
    CHECK(sentences_about({"--loglevel=DEBUG"}) ==
          "program: --loglevel is no flag; the nearest is --log-level\n" + std::string(last_line));
}

TEST_CASE("unknown words are named in the order in which they were typed")
{
    CHECK(sentences_about({"sreve", "--prot=1", "docter"}) ==
          "program: sreve is no command; the nearest is serve\n"
          "program: --prot is no flag; the nearest is --port\n"
          "program: docter is no command; the nearest is doctor\n" +
              std::string(last_line));
}

TEST_CASE("a word too many is named where there are no commands")
{
    CHECK(tell_unknown_words("program", {"more"}, known_flags, {}) ==
          "program: more is not expected\n" + std::string(last_line));
}
