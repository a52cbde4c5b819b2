#include "snapshots/snapshot_reader.hpp"

#include "backup/archive_reader.hpp"
#include "backup/bad_archive.hpp"
#include "backup/byte_source.hpp"
#include "backup/tree_restorer.hpp"
#include "files/trees.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "sealing/bad_snapshot.hpp"
#include "snapshots/archive_root.hpp"
#include "snapshots/chunk_cutter.hpp"
#include "snapshots/snapshot_stopped.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace cmcp::snapshots {

namespace {

namespace fs = std::filesystem;

/// The archive of a snapshot, chunk by chunk.
class chunk_source final : public backup::byte_source {
public:
    chunk_source(const snapshot_manifest& manifest, const chunk_sealer& sealer, const sealed_chunks& from,
                 const std::stop_token& stop)
        : manifest_(manifest), sealer_(sealer), from_(from), stop_(stop)
    {
    }

    std::size_t take(char* into, std::size_t most) override
    {
        std::size_t done = 0;
        while (done < most && (at_ < chunk_.size() || open_next())) {
            const auto count = std::min(most - done, chunk_.size() - at_);
            std::memcpy(into + done, chunk_.data() + at_, count);
            at_ += count;
            done += count;
        }
        return done;
    }

private:
    bool open_next()
    {
        if (next_ == manifest_.chunks.size()) return false;
        if (stop_.stop_requested()) throw snapshot_stopped("The reading of the snapshot was stopped.");
        chunk_ = opened(manifest_.chunks[next_++]);
        at_ = 0;
        return true;
    }

    // The id is a digest with a key, so a chunk of this id is the one that was written.
    std::string opened(const chunk_reference& wanted) const
    {
        const auto context = context_of_chunk(manifest_.handle, wanted.id);
        auto plain = sealer_.open(context, from_(wanted.id), largest_chunk);
        if (plain.empty() || plain.size() != wanted.size || sealer_.id_of(plain) != wanted.id)
            throw bad_snapshot("The " + context + " is not the one that was written.");
        return plain;
    }

    const snapshot_manifest& manifest_;
    const chunk_sealer& sealer_;
    const sealed_chunks& from_;
    const std::stop_token& stop_;
    std::size_t next_ = 0;
    std::string chunk_;
    std::size_t at_ = 0;
};

unique_fd open_empty(const fs::path& folder)
{
    unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) throw std::runtime_error(folder.string() + " cannot be opened: " + std::strerror(errno));
    if (!fs::is_empty(folder)) throw std::runtime_error(folder.string() + " is not empty");
    return opened;
}

void clear_folder(const fs::path& folder, int opened)
{
    ::fchmod(opened, 0700);  // the snapshot's own mode may let nobody remove anything
    std::error_code failure;
    for (fs::directory_iterator each(folder, failure), end; !failure && each != end; each.increment(failure))
        whole(remove_tree(each->path()));
}

restored_snapshot restore_tree(backup::byte_source& from, int into)
{
    backup::archive_reader archive(from);
    backup::tree_restorer trees(into, archive_root);
    const auto first = archive.next();
    if (!first) throw bad_snapshot("The snapshot has nothing in it.");
    trees.add_root(*first);
    while (const auto next = archive.next()) trees.add(*next, archive);
    trees.finish();
    return {trees.lost_attributes()};
}

}  // namespace

sealed_chunks chunks_in(fs::path folder)
{
    return [folder = std::move(folder)](const std::string& id) {
        if (!is_sha256_hex(id)) throw bad_snapshot("The snapshot has a chunk without an id of 64 digits.");
        const unique_fd file(::open((folder / id).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file && errno == ENOENT) throw bad_snapshot("The chunk " + id + " is missing.");
        auto sealed = file ? read_at(file.get(), 0, sealed_bound(largest_chunk) + 1) : std::nullopt;
        if (!sealed) throw std::runtime_error("The chunk " + id + " cannot be read: " + std::strerror(errno) + ".");
        return std::move(*sealed);
    };
}

restored_snapshot read_snapshot(const snapshot_manifest& manifest, const chunk_sealer& sealer,
                                const sealed_chunks& from, const fs::path& into, const std::stop_token& stop)
{
    const auto folder = open_empty(into);
    chunk_source chunks(manifest, sealer, from, stop);
    try {
        return restore_tree(chunks, folder.get());
    } catch (const backup::bad_archive& bad) {
        clear_folder(into, folder.get());
        throw bad_snapshot("The snapshot cannot be restored: " + std::string(bad.what()) + ".");
    } catch (...) {
        clear_folder(into, folder.get());
        throw;
    }
}

}  // namespace cmcp::snapshots
