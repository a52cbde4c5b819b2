#pragma once

#include "async/blocking_pool.hpp"
#include "mcp/call_activity.hpp"
#include "posix/unique_fd.hpp"
#include "runs/progress_sender.hpp"
#include "sandbox/output_receiver.hpp"
#include "text/terminal_text.hpp"
#include "text/utf8_text.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The owner of an output, and the folder of the sandbox whose files it joins.
struct output_location {
    std::string principal;
    std::filesystem::path files;
};

/// A file of the sandbox that takes the whole output of one run.
class output_file {
public:
    output_file(unique_fd fd, std::string path, std::string principal)
        : fd_(std::move(fd)), path_(std::move(path)), principal_(std::move(principal))
    {
    }

    const std::string& principal() const { return principal_; }
    const std::string& path() const { return path_; }  ///< relative to the sandbox's files

    /// Blocks. False when the disk is full or the file is too long; then nothing more is written.
    bool append(std::string_view bytes);

private:
    unique_fd fd_;
    std::string path_;
    std::string principal_;
    bool failed_ = false;
};

/// Removes the oldest stored outputs (regular files named as output_store names them) from the folder `descriptor`
/// until at most `files` and `bytes` of them are left. Looks at a bounded number of entries. Blocks.
void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes);

/// Stores long outputs as `.outputs/<128 random bits>.txt` among the files of a sandbox of the caller they belong to,
/// so that the caller, and nobody else, reads them with the file tools and resources/read. The oldest are removed. In a
/// cluster the name is a handle, `.outputs/out_<node>_<128 random bits>.txt`, because the rest of a result stays at the
/// server that made it.
class output_store {
public:
    struct limits {
        std::size_t files = 20;              ///< of one sandbox
        std::uint64_t bytes = 256ull << 20;  ///< of one sandbox
    };

    explicit output_store(blocking_pool& pool) : output_store(pool, limits()) {}

    /// `node`: this server's name in a cluster; empty: it is alone.
    output_store(blocking_pool& pool, limits keep, std::string node = {})
        : pool_(&pool), keep_(keep), node_(std::move(node))
    {
    }

    /// Nothing when the folder cannot be used (the caller's own code replaced it by something else, no space left).
    awaitable<std::shared_ptr<output_file>> create(output_location where);

    /// Waits until `bytes` are written.
    awaitable<bool> append(std::shared_ptr<output_file> file, std::string bytes);

private:
    blocking_pool* pool_;
    limits keep_;
    std::string node_;
};

/// The text of one stream of a run: all of it up to `most` bytes, of a longer text the head and the tail.
/// Holds at most about 1.5 × `most` bytes.
class captured_stream {
public:
    explicit captured_stream(std::size_t most) : head_most_(most / 2), tail_most_(most - most / 2) {}

    /// Returns the new text (valid UTF-8).
    std::string add(std::string_view bytes);
    std::string finish();

    std::uint64_t size() const { return size_; }    ///< of the whole text, in bytes
    std::uint64_t bytes() const { return bytes_; }  ///< received, before they were made text
    bool truncated() const { return size_ > head_most_ + tail_most_; }
    bool binary() const { return looks_binary(head_); }  ///< no text: nobody can read it

    std::string newest(std::size_t most) const;  ///< the end of the text

    /// The whole text, or head, a line in brackets that says how much is missing and `where` to find it, and tail.
    std::string text(std::string_view where) const;

private:
    void keep(std::string_view text);

    std::size_t head_most_;
    std::size_t tail_most_;
    utf8_cleaner cleaner_;
    std::string head_;
    std::string tail_;
    std::uint64_t size_ = 0;  // of the text
    std::uint64_t bytes_ = 0;
};

/// Takes the output of one run: keeps head and tail of each stream, writes everything, in the order of its arrival, to
/// a file of the sandbox as soon as one stream is longer than is kept, or when it is no text, and hands the text to the
/// caller's progress.
/// Memory is bounded by a small multiple of `max_output`.
class output_collector final : public sandbox::output_receiver, public live_output {
public:
    /// `max_output` in bytes for each stream. `progress` may be null. All must outlive this.
    output_collector(output_store& store, output_location where, std::size_t max_output, progress_sender* progress);

    /// Asked when the time of the run is over; `how_much` says how much more it gets. What it prints from then on goes
    /// to `io`, also without progress.
    void on_time_over(request_io& io, std::function<awaitable<std::chrono::milliseconds>()> how_much);

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override;
    awaitable<std::chrono::milliseconds> more_time() override;

    std::string newest(std::size_t most) const override;

    /// The run has ended: completes the texts and the file.
    awaitable<> finish();

    const captured_stream& out() const { return out_; }
    const captured_stream& err() const { return err_; }
    const output_file* file() const { return file_.get(); }  ///< null: nothing was cut, or it could not be stored

private:
    awaitable<> pass_on(output_stream from, std::string text);
    awaitable<> pass_on_held();
    awaitable<> keep_all(std::string_view bytes);
    awaitable<> write_file();

    output_store& store_;
    output_location where_;
    progress_sender* progress_;
    captured_stream out_;
    captured_stream err_;
    std::string unwritten_;  // everything, until it is clear whether a file is needed; then what it lacks
    std::shared_ptr<output_file> file_;
    bool file_failed_ = false;
    bool err_was_last_ = false;
    request_io* beyond_ = nullptr;  // of a run whose time may be over
    std::function<awaitable<std::chrono::milliseconds>()> how_much_;
    enum class passing { nothing, held, all } passing_ = passing::nothing;  // of the output, to `beyond_`
    std::vector<output_text> held_;
};

}  // namespace cmcp
