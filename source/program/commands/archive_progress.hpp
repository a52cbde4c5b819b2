#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cmcp::command {

/// A line on a terminal that shows how far a backup is; nothing elsewhere. While it lives, SIGINT, SIGTERM and SIGHUP
/// end the work in good order: tell() throws std::runtime_error then. A second signal ends the program.
class archive_progress {
public:
    archive_progress();
    archive_progress(const archive_progress&) = delete;
    archive_progress& operator=(const archive_progress&) = delete;
    ~archive_progress();

    void tell(std::uint64_t bytes, const std::string& what);
    void clear();

private:
    bool is_terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point began_, last_;
};

}  // namespace cmcp::command
