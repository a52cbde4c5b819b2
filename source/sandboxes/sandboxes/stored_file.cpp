#include "sandboxes/stored_file.hpp"

#include "files/file_error.hpp"
#include "posix/bytes.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t copied_at_once = 1 << 20;

// As cp does.
file_path destination(const file_root& workspace, const std::string& inside, const std::string& source)
{
    if (!names_folder(workspace, inside)) return file_path("dest_path", inside);
    return file_path("dest_path", inside + (inside.ends_with('/') ? "" : "/") + source.substr(source.rfind('/') + 1));
}

/// The copy of a file of this machine into a workspace, piece by piece.
class local_copy {
public:
    local_copy(std::shared_ptr<unique_fd> from, std::uint64_t size, std::filesystem::path workspace, std::string inside,
               std::string source)
        : from_(std::move(from)),
          left_(size),
          workspace_(std::move(workspace)),
          inside_(std::move(inside)),
          source_(std::move(source))
    {
    }

    std::optional<written_file> go_on(slice_end until)
    {
        if (!file_) begin();
        do {
            const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(copied_at_once, left_));
            const std::string piece = read_piece(from_->get(), file_->size(), most);
            if (piece.empty()) return written_file{to_->display(), file_};
            file_->append(piece);
            left_ -= piece.size();
        } while (std::chrono::steady_clock::now() < until);
        return std::nullopt;
    }

private:
    void begin()
    {
        const file_root workspace(workspace_);
        to_.emplace(destination(workspace, inside_, source_));
        file_ = std::make_shared<incoming_file>(workspace, *to_);
    }

    std::shared_ptr<unique_fd> from_;
    std::uint64_t left_;
    std::filesystem::path workspace_;
    std::string inside_;
    std::string source_;
    std::optional<file_path> to_;
    std::shared_ptr<incoming_file> file_;
};

}  // namespace

bool names_folder(const file_root& workspace, const std::string& inside)
{
    return inside.ends_with('/') ||
           file_root::open_beneath(workspace.descriptor(), inside, O_PATH | O_DIRECTORY).get() >= 0;
}

std::string read_piece(int fd, std::uint64_t offset, std::size_t most)
{
    auto bytes = read_at(fd, offset, most);
    if (!bytes) throw file_error("The file could not be read.");
    return std::move(*bytes);
}

sliced_work<written_file> copy_local_file(std::shared_ptr<unique_fd> from, std::uint64_t size,
                                          std::filesystem::path workspace, std::string inside, std::string source)
{
    const auto copy =
        std::make_shared<local_copy>(std::move(from), size, std::move(workspace), std::move(inside), std::move(source));
    return [copy](auto until) { return copy->go_on(until); };
}

}  // namespace cmcp
