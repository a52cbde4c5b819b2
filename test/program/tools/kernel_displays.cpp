#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr const char* pixel =
    "import base64\nfrom IPython.display import Image, HTML, Markdown\npixel = "
    "base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAA"
    "EAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')";

std::size_t images_in(const tool_result& result)
{
    std::size_t count = 0;
    for (const auto& block : result.content) count += text(block.as_object(), "type") == "image";
    return count;
}

}  // namespace

TEST_CASE("pictures that a kernel displays arrive as images, and HTML as a file with its words in the text")
{
    kernel_stage s;
    s.keep(pixel);
    const auto result = s.keep("print('a')\ndisplay(Image(data=pixel))\nprint('b')\nHTML('<p>words</p>')");
    CHECK(text(result, "stdout") == "a\n<IPython.core.display.Image object> [.displays/0001.png]\nb\n");
    CHECK(text(result, "result") == "words");
    CHECK(strings(result, "files") == std::vector<std::string>{".displays/0001.png", ".displays/0002.html"});
    CHECK(images_in(s.last) == 1);
    const auto& shown = result.at("displays").as_array();
    REQUIRE(shown.size() == 2);
    CHECK(strings(shown[0].as_object(), "mime_types") == std::vector<std::string>{"text/plain", "image/png"});
    CHECK(shown[1].as_object().at("is_result") == true);
    CHECK_FALSE(s.keep("1").contains("displays"));
}

TEST_CASE("a call in a kernel has its own processor time and memory")
{
    kernel_stage s;
    const auto result = s.keep("data = bytearray(60_000_000)\nx = sum(range(2_000_000))");
    CHECK(result.at("cpu_ms").to_number<double>() > 1);
    CHECK(result.at("peak_memory_bytes").to_number<double>() > 60e6);
    CHECK(s.keep("del data").at("cpu_ms").to_number<double>() < result.at("cpu_ms").to_number<double>());
}

TEST_CASE("code in a kernel that asks for a package is answered by the rules of the server")
{
    settings config = all_programs();
    config.pypi_index_url = "http://127.0.0.1:9/simple/";
    kernel_stage s(config);
    const auto unknown = s.keep("x = 1\n%pip install ../no-name");
    CHECK(unknown.at("exit_code") == 1);
    CHECK(text(unknown, "stderr").find("RuntimeError") != std::string::npos);
    const auto refused = s.keep("!pip install -q no-such-package-of-anyone");
    CHECK(refused.at("exit_code") == 1);
    CHECK(text(refused, "stderr").find("RuntimeError") != std::string::npos);
    CHECK(s.keep("x").at("result") == 1);
}

TEST_CASE("an installation that code waits for ends with the code's interruption")
{
    settings config = all_programs();
    asio::io_context silent;
    asio::ip::tcp::acceptor index(silent, {asio::ip::address_v4::loopback(), 0});  // takes connections and says nothing
    config.pypi_index_url = "http://127.0.0.1:" + std::to_string(index.local_endpoint().port()) + "/simple/";
    kernel_stage s(config);
    s.keep("x = 1");
    const auto job = text(s.keep("%pip install no-such-package-of-anyone", {{"run_in_background", true}}), "job_id");
    asio::ip::tcp::socket connection(silent);
    index.non_blocking(true);
    boost::system::error_code none = asio::error::would_block;
    for (std::string state = "running"; none && state == "running"; index.accept(connection, none))
        state = text(s.tool("job_poll", {{"job_id", job}, {"wait", 0.05}, {"cursor", 1 << 20}}), "state");
    REQUIRE_FALSE(none);
    CHECK(s.tool("interrupt_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
    while (text(seen, "state") == "running")
        seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
    CHECK(seen.at("result").as_object().at("exit_code") == 130);
    CHECK(s.keep("x").at("result") == 1);
}
