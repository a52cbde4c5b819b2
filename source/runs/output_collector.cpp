#include "runs/output_collector.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t written_together = 256 * 1024;

}  // namespace

output_collector::output_collector(output_store& store, std::filesystem::path workspace, std::size_t max_output,
                                   progress_sender* progress)
    : store_(store), workspace_(std::move(workspace)), progress_(progress), out_(max_output), err_(max_output)
{
}

awaitable<> output_collector::receive(sandbox::stream from, std::string_view bytes)
{
    const bool is_out = from == sandbox::stream::out;
    std::string text = (is_out ? out_ : err_).add(bytes);
    co_await keep_all(bytes);
    if (progress_ == nullptr) co_return;
    const output_stream stream = is_out ? output_stream::out : output_stream::err;
    co_await progress_->add(stream, std::move(text));
}

awaitable<> output_collector::keep_all(std::string_view bytes)
{
    if (file_failed_) co_return;
    unwritten_.append(bytes);
    const bool needed = out_.truncated() || err_.truncated();
    if (needed && unwritten_.size() >= written_together) co_await write_file();
}

awaitable<> output_collector::write_file()
{
    if (file_failed_) co_return;
    std::string bytes = std::exchange(unwritten_, {});
    if (!file_) file_ = co_await store_.create(workspace_);
    bool written = file_ != nullptr;
    if (written) written = co_await store_.append(file_, std::move(bytes));
    file_failed_ = !written;
}

awaitable<> output_collector::finish()
{
    std::string rest_of_out = out_.finish();
    std::string rest_of_err = err_.finish();
    if (out_.truncated() || err_.truncated()) co_await write_file();
    unwritten_.clear();
    if (progress_ == nullptr) co_return;
    co_await progress_->add(output_stream::out, std::move(rest_of_out));
    co_await progress_->add(output_stream::err, std::move(rest_of_err));
}

}  // namespace cmcp
