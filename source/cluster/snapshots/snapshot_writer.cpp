#include "snapshots/snapshot_writer.hpp"

#include "backup/archive_writer.hpp"
#include "backup/tree_archiver.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "snapshots/archive_root.hpp"
#include "snapshots/chunk_cutter.hpp"
#include "snapshots/snapshot_stopped.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace cmcp::snapshots {

namespace {

// A file of a chunk gets its name when it is whole, because somebody may find it after a crash.
void write_chunk_file(const std::filesystem::path& place, std::string_view sealed)
{
    const std::string passing = place.string() + ".part";
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const unique_fd file(::open(passing.c_str(), flags, 0600));
    if (file && write_all(file.get(), sealed) && ::rename(passing.c_str(), place.c_str()) == 0) return;
    const int error = errno;
    ::unlink(passing.c_str());
    throw std::runtime_error(std::string("A chunk cannot be written: ") + std::strerror(error) + ".");
}

class chunk_keeper {
public:
    chunk_keeper(const snapshot_order& order, const chunk_sealer& sealer) : order_(order), sealer_(sealer) {}

    void take(std::string_view chunk)
    {
        if (order_.stop.stop_requested()) throw snapshot_stopped("The snapshot was stopped.");
        auto id = sealer_.id_of(chunk);
        if (!order_.known.contains(id) && written_.insert(id).second) write(id, chunk);
        result_.bytes += chunk.size();
        result_.chunks.push_back({std::move(id), chunk.size()});
    }

    written_snapshot result() && { return std::move(result_); }

private:
    void write(const std::string& id, std::string_view chunk)
    {
        const auto sealed = sealer_.seal(context_of_chunk(order_.handle, id), chunk);
        if (sealed.size() > order_.most_bytes - result_.new_bytes)
            throw snapshot_too_large("The snapshot has more than " + std::to_string(order_.most_bytes) +
                                     " bytes that are new.");
        write_chunk_file(order_.into / id, sealed);
        result_.new_bytes += sealed.size();
        ++result_.new_chunks;
    }

    const snapshot_order& order_;
    const chunk_sealer& sealer_;
    std::unordered_set<std::string> written_;
    written_snapshot result_;
};

// The archiver names paths with the folder of the archive in front.
std::function<bool(const std::string&)> left_out_of_archive(const snapshot_order& order)
{
    if (!order.leaves_out) return {};
    return [&order](const std::string& path) { return order.leaves_out(path.substr(std::strlen(archive_root) + 1)); };
}

}  // namespace

written_snapshot write_snapshot(const snapshot_order& order, const chunk_sealer& sealer)
{
    chunk_keeper keeper(order, sealer);
    chunk_cutter cutter(sealer.cut_seed(), [&keeper](std::string_view chunk) { keeper.take(chunk); });
    backup::archive_writer archive(cutter);
    backup::tree_archiver trees(archive);
    trees.add(order.folder, archive_root, left_out_of_archive(order));
    archive.finish();
    cutter.finish();
    auto result = std::move(keeper).result();
    result.left_out = trees.left_out_count();
    result.problems = trees.left_out();
    return result;
}

}  // namespace cmcp::snapshots
