#pragma once

#include "test/execution/sandbox/run_support.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <optional>

namespace cmcp::sandbox::test {

/// A run that goes on beside others of its stage.
class beside {
public:
    beside(stage& s, run_request wanted) : io_(s.io)
    {
        asio::co_spawn(io_, s.backend.run(std::move(wanted), output),
                       [this](std::exception_ptr, run_result ended) { result_ = std::move(ended); });
    }
    beside(const beside&) = delete;
    beside& operator=(const beside&) = delete;

    void await_output()
    {
        io_.restart();
        while (output.out.empty() && !result_ && io_.run_one() != 0) {
        }
        REQUIRE_FALSE(output.out.empty());
    }

    const run_result& await_end()
    {
        io_.restart();
        while (!result_ && io_.run_one() != 0) {
        }
        REQUIRE(result_);
        return *result_;
    }

    capture output;

private:
    asio::io_context& io_;
    std::optional<run_result> result_;
};

inline native_backend::options launcher_with_interpreter()
{
    native_backend::options options = launcher_under_test();
    auto& loaded = options.launcher.zygote.emplace();
    loaded.path = std::string(CMCP_BUILD_DIR) + "/container-mcp-zygote";
    loaded.profile = "stdlib";
    loaded.argv = {
        "/usr/bin/python3", "-I", "-B", "-X", "utf8", "-c", "import os\n# A run begins.\nexec(os.fdopen(3).read())"};
    return options;
}

inline bool has_interpreter()
{
    return !under_firejail() && std::filesystem::exists(std::string(CMCP_BUILD_DIR) + "/container-mcp-zygote");
}

}  // namespace cmcp::sandbox::test
