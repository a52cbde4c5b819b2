#include "managers/output_collector.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t written_together = 256 * 1024;

}  // namespace

output_collector::output_collector(output_store& store, std::filesystem::path workspace, std::size_t max_output,
                                   progress_feed* feed)
    : store_(store), workspace_(std::move(workspace)), feed_(feed), out_(max_output), err_(max_output)
{
}

awaitable<> output_collector::receive(sandbox::stream from, std::string_view bytes)
{
    captured_stream& taken = from == sandbox::stream::out ? out_ : err_;
    std::string text = taken.add(bytes);
    co_await keep_all(bytes);
    if (feed_ != nullptr) co_await feed_->add(std::move(text));
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
    std::string rest = out_.finish();
    rest += err_.finish();
    if (out_.truncated() || err_.truncated()) co_await write_file();
    unwritten_.clear();
    if (feed_ != nullptr) co_await feed_->add(std::move(rest));
}

}  // namespace cmcp
