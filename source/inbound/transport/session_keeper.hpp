#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "store/session_records.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cmcp {

/// Keeps sessions in a file, so that the next process of the server goes on with them. The loop never waits for the
/// file: what changed is written by a thread, together with all that changed meanwhile. Where the file cannot be used,
/// a line of the log says so and nothing is kept.
class session_keeper {
public:
    session_keeper(asio::any_io_executor executor, const std::filesystem::path& file);

    std::vector<session_record> take_read() { return std::move(read_); }  ///< those of former processes

    /// Gives the record of a session; nothing: the session is to be forgotten.
    using description = std::function<std::optional<session_record>()>;

    void changed(const std::string& digest, description describe);
    void ended(const std::string& digest);

    awaitable<bool> written(std::chrono::milliseconds limit);  ///< true when nothing is left to write

private:
    awaitable<> write_all();

    std::shared_ptr<session_records> records_;  ///< null: nothing is kept
    std::vector<session_record> read_;
    std::unordered_map<std::string, description> pending_;
    bool writing_ = false;
    bool complained_ = false;
    std::unique_ptr<blocking_pool> pool_;
    task_group writer_;
};

}  // namespace cmcp
