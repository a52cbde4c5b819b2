#pragma once

#include "runs/captured_stream.hpp"
#include "runs/output_store.hpp"
#include "runs/progress_sender.hpp"
#include "sandbox/output_receiver.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace cmcp {

/// Takes the output of one run: keeps head and tail of each stream, writes everything, in the order of its arrival, to
/// a file of the workspace as soon as one stream is longer than is kept, and hands the text to the caller's progress.
/// Memory is bounded by a small multiple of `max_output`.
class output_collector final : public sandbox::output_receiver {
public:
    /// `max_output` in bytes for each stream. `progress` may be null. All must outlive this.
    output_collector(output_store& store, std::filesystem::path workspace, std::size_t max_output,
                     progress_sender* progress);

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override;

    /// The run has ended: completes the texts and the file.
    awaitable<> finish();

    const captured_stream& out() const { return out_; }
    const captured_stream& err() const { return err_; }
    const output_file* file() const { return file_.get(); }  ///< null: nothing was cut, or it could not be kept

private:
    awaitable<> keep_all(std::string_view bytes);
    awaitable<> write_file();

    output_store& store_;
    std::filesystem::path workspace_;
    progress_sender* progress_;
    captured_stream out_;
    captured_stream err_;
    std::string unwritten_;  // everything, until it is clear whether a file is needed; then what it lacks
    std::shared_ptr<output_file> file_;
    bool file_failed_ = false;
};

}  // namespace cmcp
