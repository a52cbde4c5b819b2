#pragma once

#include "async/blocking_pool.hpp"
#include "posix/unique_fd.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "sandboxes/stored_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

/// A file of a sandbox that is read piece by piece: its bytes stay the same file's when the name is given to another.
class file_download {
public:
    struct opened {
        std::shared_ptr<unique_fd> fd;
        struct stat status {};
    };
    /// Throws file_error.
    static opened open(const std::filesystem::path& folder, const std::string& relative);

    /// `path` is relative to the working folder.
    file_download(blocking_pool& pool, std::string owner, std::shared_ptr<sandbox_activities::entry> use, opened file,
                  const std::string& path);

    const std::string& name() const { return name_; }  ///< the last part of its path, raw
    std::string media_type() const;
    std::uint64_t size() const { return static_cast<std::uint64_t>(file_.status.st_size); }
    double modified() const { return modified_of(file_.status); }  ///< seconds since 1970
    std::string tag() const;  ///< changes when the file does (an entity tag's text)

    /// At most `most` bytes from `offset` on; fewer only at the end of the file.
    awaitable<std::string> read(std::uint64_t offset, std::size_t most);

private:
    blocking_pool& pool_;
    std::string owner_;
    std::shared_ptr<sandbox_activities::entry> use_;
    opened file_;
    std::string name_;
};

/// A file on its way into a sandbox. It appears with finish(), and never when the upload is dropped earlier.
class file_upload {
public:
    /// `path` is relative to the working folder.
    file_upload(sandbox_manager& sandboxes, blocking_pool& pool, std::shared_ptr<sandbox_activities::entry> use,
                reservations::share disk, std::shared_ptr<incoming_file> file, sandbox_record where, std::string path);

    awaitable<> write(std::string bytes);  ///< throws sandbox_error; http_refusal where the disk takes no more
    awaitable<json::object> finish();      ///< {success, path, size}; throws sandbox_error and file_error

private:
    using clock = std::chrono::steady_clock;

    bool is_look_due();

    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    std::shared_ptr<sandbox_activities::entry> use_;
    reservations::share disk_;
    std::shared_ptr<incoming_file> file_;
    sandbox_record where_;
    std::string path_;
    clock::time_point looked_ = clock::now();
};

}  // namespace cmcp
