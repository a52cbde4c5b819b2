#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The step that fails where a browser cannot make its own sandbox.
inline constexpr const char* own_sandbox_step = "let Chromium make its own sandbox";

/// A step of building a sandbox that failed. what() is the step's name, for example "mount /proc".
struct step_failed : std::runtime_error {
    explicit step_failed(const std::string& step, int error_number = errno)
        : std::runtime_error(step), error(error_number)
    {
    }
    int error;  ///< errno
};

/// Throws step_failed with errno when `result` is negative; returns `result`.
template <class T, class Step>
T check(T result, const Step& step)
{
    if (result < 0) throw step_failed(step);
    return result;
}

/// In a clone of the launcher: closes every descriptor but `keep`, of which -1 is none. Throws step_failed.
void close_all_but(std::vector<int> keep);

/// errno of a step_failed; 0: the exception is another one.
int error_of(const std::exception& failure);

/// The sentence for the caller: which step failed, why, and what to do about it.
std::string explain_setup_failure(const std::string& step, int error);
std::string explain_setup_failure(const std::exception& failure);

}  // namespace cmcp::sandbox
