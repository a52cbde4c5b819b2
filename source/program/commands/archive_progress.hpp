#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cmcp::command {

/// A line on a terminal that shows how far a copy is; nothing elsewhere. While it lives, SIGINT, SIGTERM and SIGHUP
/// end the work in good order: tell() throws std::runtime_error with that sentence then. A second signal ends the
/// program.
class archive_progress {
public:
    explicit archive_progress(const char* when_interrupted = "interrupted; nothing is kept");
    archive_progress(const archive_progress&) = delete;
    archive_progress& operator=(const archive_progress&) = delete;
    ~archive_progress();

    void tell(std::uint64_t bytes, const std::string& what);
    void clear();

private:
    const char* when_interrupted_;
    bool is_terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point began_, last_;
};

}  // namespace cmcp::command
