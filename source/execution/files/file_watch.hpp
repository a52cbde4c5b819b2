#pragma once

#include "async/asio.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// Reports changes of files, whoever makes them (inotify(7)). Changes that follow within 50 ms are reported once. Io
/// thread only.
class file_watch {
public:
    explicit file_watch(asio::any_io_executor executor, std::size_t most = 20'000);
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;
    ~file_watch();

    /// Calls `changed` when the entry `name` of the open folder is made, written, moved or deleted, for as long as the
    /// handle lives; the handle may outlive this. The entry need not exist yet. Throws std::system_error: ENOSPC where
    /// there is no room for another observer of this principal, here (half of what the others leave of `most`) or in
    /// the kernel (fs.inotify.max_user_watches).
    std::shared_ptr<void> observe(std::string principal, int folder, std::string name, std::function<void()> changed);

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace cmcp
