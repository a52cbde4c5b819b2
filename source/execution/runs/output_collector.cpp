#include "runs/output_collector.hpp"

#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "files/sandbox_homes.hpp"
#include "posix/bytes.hpp"
#include "text/cut_text.hpp"
#include "text/handles.hpp"
#include "text/random_id.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace cmcp {
namespace {

constexpr std::size_t written_together = 256 * 1024;

// The bytes dropped before the tail may have ended within a character.
std::string_view without_cut_beginning(std::string_view text)
{
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) text.remove_prefix(1);
    return text;
}

constexpr const char* folder_name = sandbox_homes::outputs_folder;

// The caller's code may have planted anything among its files: no link is followed.
unique_fd open_outputs(int files)
{
    if (::mkdirat(files, folder_name, 0755) != 0 && errno != EEXIST) return {};
    return open_folder(files, folder_name);
}

// A caller may fill the folder with files of its own: the rest is left to a later run.
constexpr std::size_t entries_looked_at = 4096;

struct stored_output {
    std::string name;
    std::uint64_t size;
    timespec modified;
};

bool is_output_name(std::string_view name)
{
    if (!name.ends_with(".txt")) return false;
    name.remove_suffix(4);
    return handle_maker::fits("out", name) ||
           (name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

std::vector<stored_output> find_outputs(int folder)
{
    std::vector<stored_output> outputs;
    for (auto& [name, type] : folder_reader(open_folder(folder, ".")).read_all(entries_looked_at)) {
        struct stat about {};
        if (is_output_name(name) && ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode))
            outputs.push_back({std::move(name), static_cast<std::uint64_t>(about.st_size), about.st_mtim});
    }
    return outputs;
}

bool newer(const stored_output& a, const stored_output& b)
{
    if (a.modified.tv_sec != b.modified.tv_sec) return a.modified.tv_sec > b.modified.tv_sec;
    return a.modified.tv_nsec > b.modified.tv_nsec;
}

std::string new_name(const std::string& node)
{
    return (node.empty() ? random_id(16) : handle_maker(node).make("out")) + ".txt";
}

std::shared_ptr<output_file> create_in(const output_location& where, const output_store::limits& keep,
                                       const std::string& node)
try {
    const file_root files(where.files);
    const unique_fd folder = open_outputs(files.descriptor());
    if (!folder) return nullptr;
    remove_old_outputs(folder.get(), keep.files > 0 ? keep.files - 1 : 0, keep.bytes);
    const std::string name = new_name(node);
    unique_fd file(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (!file) return nullptr;
    return std::make_shared<output_file>(std::move(file), std::string(folder_name) + "/" + name, where.principal);
} catch (const std::system_error&) {
    return nullptr;
}

}  // namespace

void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes)
{
    std::vector<stored_output> outputs = find_outputs(descriptor);
    std::sort(outputs.begin(), outputs.end(), newer);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        total += outputs[i].size;
        if (i >= files || total > bytes) ::unlinkat(descriptor, outputs[i].name.c_str(), 0);
    }
}

bool output_file::append(std::string_view bytes)
{
    if (!failed_) failed_ = !write_all(fd_.get(), bytes);
    return !failed_;
}

awaitable<std::shared_ptr<output_file>> output_store::create(output_location where)
{
    return pool_->run(where.principal, [where, keep = keep_, node = node_] { return create_in(where, keep, node); });
}

awaitable<bool> output_store::append(std::shared_ptr<output_file> file, std::string bytes)
{
    std::string principal = file->principal();
    auto work = [file = std::move(file), bytes = std::move(bytes)] { return file->append(bytes); };
    return pool_->run(std::move(principal), std::move(work));
}

std::string captured_stream::add(std::string_view bytes)
{
    bytes_ += bytes.size();
    std::string text = cleaner_.add(bytes);
    keep(text);
    return text;
}

std::string captured_stream::finish()
{
    std::string text = cleaner_.finish();
    keep(text);
    return text;
}

void captured_stream::keep(std::string_view text)
{
    size_ += text.size();
    const std::size_t to_head = std::min(text.size(), head_most_ - head_.size());
    head_.append(text.substr(0, to_head));
    text.remove_prefix(to_head);
    if (text.size() >= tail_most_) {
        tail_.assign(text.substr(text.size() - tail_most_));
        return;
    }
    tail_.append(text);
    // Cut in large steps: removing a few bytes from the front at each call would be quadratic.
    if (tail_.size() > 2 * tail_most_) tail_.erase(0, tail_.size() - tail_most_);
}

std::string captured_stream::text(std::string_view where) const
{
    if (!truncated()) return head_ + tail_;
    const std::string_view tail = without_cut_beginning(utf8_suffix(tail_, tail_most_));
    const std::string_view head = std::string_view(head_).substr(0, valid_utf8_length(head_));
    return written({std::string(head), std::string(tail), size_ - head.size() - tail.size(), std::string(where)});
}

std::string captured_stream::newest(std::size_t most) const
{
    std::string end = tail_.size() >= most ? tail_ : head_ + tail_;
    return std::string(utf8_suffix(end, most));
}

output_collector::output_collector(output_store& store, output_location where, std::size_t max_output,
                                   progress_sender* progress)
    : store_(store), where_(std::move(where)), progress_(progress), out_(max_output), err_(max_output)
{
}

awaitable<> output_collector::receive(sandbox::stream from, std::string_view bytes)
{
    const bool is_out = from == sandbox::stream::out;
    err_was_last_ = !is_out;
    std::string text = (is_out ? out_ : err_).add(bytes);
    co_await keep_all(bytes);
    const output_stream stream = is_out ? output_stream::out : output_stream::err;
    co_await pass_on(stream, std::move(text));
}

// The text has been added to its stream already.
awaitable<> output_collector::pass_on(output_stream from, std::string text)
{
    if (progress_ != nullptr) {
        co_await progress_->add(from, std::move(text));
        co_return;
    }
    if (passing_ == passing::nothing || text.empty()) co_return;
    const auto end = (from == output_stream::out ? out_ : err_).size();
    const auto begins = end - text.size();
    held_.push_back({from, begins, std::move(text)});
    if (passing_ == passing::all) co_await pass_on_held();
}

awaitable<> output_collector::pass_on_held()
{
    while (!held_.empty()) {
        auto texts = std::exchange(held_, {});
        co_await beyond_->output(0, std::move(texts));
    }
}

void output_collector::on_time_over(request_io& io, std::function<awaitable<std::chrono::milliseconds>()> how_much)
{
    beyond_ = &io;
    how_much_ = std::move(how_much);
}

// What is printed while the call becomes a job is held, so that it comes behind what the call is answered with.
awaitable<std::chrono::milliseconds> output_collector::more_time()
{
    if (!how_much_) co_return std::chrono::milliseconds(0);
    passing_ = passing::held;
    const auto more = co_await how_much_();
    if (more.count() == 0) {
        passing_ = passing::nothing;
        held_.clear();
        co_return more;
    }
    if (progress_ == nullptr) co_await pass_on_held();
    passing_ = passing::all;
    co_return more;
}

std::string output_collector::newest(std::size_t most) const { return (err_was_last_ ? err_ : out_).newest(most); }

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
    if (!file_) file_ = co_await store_.create(where_);
    bool written = file_ != nullptr;
    if (written) written = co_await store_.append(file_, std::move(bytes));
    file_failed_ = !written;
}

awaitable<> output_collector::finish()
{
    std::string rest_of_out = out_.finish();
    std::string rest_of_err = err_.finish();
    const bool needed = out_.truncated() || err_.truncated() || out_.binary() || err_.binary();
    if (needed) co_await write_file();
    unwritten_.clear();
    co_await pass_on(output_stream::out, std::move(rest_of_out));
    co_await pass_on(output_stream::err, std::move(rest_of_err));
}

}  // namespace cmcp
