#pragma once

#include "test/sandbox/run_support.hpp"

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

}  // namespace cmcp::sandbox::test
