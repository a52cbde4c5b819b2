#include "local/local_policy.hpp"
#include "local/local_run.hpp"
#include "local/run_words.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv)
{
    using namespace cmcp::sandbox;
    constexpr int wrong_words = 2, no_sandbox = 125;
    try {
        const run_words words = parse_run_words({argv + 1, argv + argc});
        if (!words.help) return run_locally(words);
        std::fputs(run_help().c_str(), stdout);
        return 0;
    } catch (const bad_words& wrong) {
        std::fprintf(stderr, "container-mcp run: %s. `container-mcp run --help` shows how.\n", wrong.what());
        return wrong_words;
    } catch (const bad_policy& wrong) {
        std::fprintf(stderr, "container-mcp run: %s\n", wrong.what());
        return no_sandbox;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp run: %s\n", explain_local_failure(failure).c_str());
        return no_sandbox;
    }
}
