#include "audit/journal.hpp"

#include "audit/audit_error.hpp"
#include "audit/chain_check.hpp"
#include "audit/record_text.hpp"
#include "posix/bytes.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cmcp::audit {

namespace {

constexpr std::size_t most_retained_memory = 1 << 20;

std::string today() { return utc_text(std::time(nullptr), "%Y-%m-%d"); }

bool is_same_file(const struct stat& one, const struct stat& other)
{
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// With its newline; a head is much shorter.
std::string last_line_of(const std::filesystem::path& path)
{
    constexpr off_t longest = 8192;
    struct stat status {};
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::fstat(file.get(), &status) != 0) return {};
    const auto end =
        read_at(file.get(), static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - longest)), longest);
    if (!end || !end->ends_with('\n')) return {};
    const auto before = std::string_view(*end).substr(0, end->size() - 1).rfind('\n');
    return end->substr(before == std::string::npos ? 0 : before + 1);
}

bool copy_bytes(int from, int to, std::uint64_t size)
{
    constexpr std::size_t piece = 1 << 20;
    for (std::uint64_t at = 0; at < size;) {
        const auto bytes = read_at(from, at, static_cast<std::size_t>(std::min<std::uint64_t>(piece, size - at)));
        if (!bytes || bytes->empty() || !write_all(to, *bytes)) return false;
        at += bytes->size();
    }
    return true;
}

}  // namespace

void journal::add(const record& of) { chain_.append(text_, of); }

void journal::add_own(kind is, log::fields with)
{
    std::string fields;
    append_fields(fields, with);
    add({std::chrono::system_clock::now(), is, fields, {}});
}

bool journal::fail(const std::string& what, const std::string& why)
{
    trouble_ = what + ": " + why;
    return false;
}

// A file of root's in another user's folder would be of no use to that user's server.
unique_fd journal::open_own(const std::filesystem::path& file, int flags) const
{
    unique_fd own(::open(file.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat folder {};
    if (own && ::geteuid() == 0 && ::stat(how_.folder.c_str(), &folder) == 0 && folder.st_uid != 0 &&
        ::fchown(own.get(), folder.st_uid, folder.st_gid) != 0)
        return {};
    return own;
}

bool journal::open_file()
{
    file_ = open_own(file_path_, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
    return file_ || fail(file_path_.string() + " cannot be made", std::strerror(errno));
}

// A disk that was full takes the rest of the line later.
bool journal::write()
{
    if (is_misplaced_ && !check_file()) return false;
    if (has_unwritten() && !file_ && !open_file()) return false;
    while (has_unwritten()) {
        const auto size = ::write(file_.get(), text_.data() + written_, text_.size() - written_);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return fail(file_path_.string() + " cannot be written", std::strerror(errno));
        written_ += static_cast<std::size_t>(size);
        file_size_ += static_cast<std::uint64_t>(size);
    }
    text_.clear();
    written_ = 0;
    if (text_.capacity() > most_retained_memory) text_ = std::string();
    trouble_.clear();
    return true;
}

bool journal::check_file()
{
    struct stat own {
    }, named{};
    if (!file_) return true;
    is_misplaced_ = true;
    const bool there = ::stat(file_path_.c_str(), &named) == 0;
    if (::fstat(file_.get(), &own) != 0) return fail(file_path_.string() + " cannot be read", std::strerror(errno));
    if (there && !is_same_file(own, named))
        return fail(file_path_.string() + " was exchanged", "move the file away that has its name now");
    if (static_cast<std::uint64_t>(own.st_size) != file_size_) {
        damage_ = file_path_.string() + " has " + std::to_string(own.st_size) + " bytes, and " +
                  std::to_string(file_size_) + " were written";
        file_size_ = static_cast<std::uint64_t>(own.st_size);
    }
    if (!there && !restore()) return false;
    is_misplaced_ = false;
    return true;
}

// The descriptor still has what the folder has lost.
bool journal::restore()
{
    unique_fd fresh = open_own(file_path_, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
    if (!fresh) return fail(file_path_.string() + " was removed, and cannot be written again", std::strerror(errno));
    if (!copy_bytes(file_.get(), fresh.get(), file_size_) || ::fdatasync(fresh.get()) != 0) {
        const int failure = errno;
        ::unlink(file_path_.c_str());
        return fail(file_path_.string() + " was removed, and cannot be written again", std::strerror(failure));
    }
    file_ = std::move(fresh);
    head_.reset();
    damage_ = file_path_.string() + " was removed by somebody; the server has written it again";
    try {
        lock();
    } catch (const audit_error& taken) {
        return fail(how_.folder.string(), taken.what());
    }
    return true;
}

bool journal::is_due_for_next() const
{
    return file_size_ >= how_.file_size || (day_ != today() && chain_.last().number > first_of_file_);
}

bool journal::add_head()
{
    std::optional<std::string> next;
    if (is_due_for_next()) {
        try {
            next = keys_.make_next();
        } catch (const audit_error& failure) {
            return fail("the audit cannot go on with another file", failure.what());
        }
    }
    const auto before = chain_.last().text();
    std::string fields;
    append_fields(fields, {{"head", before}, {"key", key_}, {"next_key", next}});
    const auto begin = text_.size();
    chain_.append(text_, {std::chrono::system_clock::now(), kind::head, fields, {}}, &keys_.current());
    head_line_ = text_.substr(begin, text_.size() - begin - 1);
    signed_ = chain_.last();
    hands_over_ = next.has_value();
    return true;
}

bool journal::seal()
{
    if (!check_file() || !write() || !enter_file()) return false;
    if (is_sealed()) return true;
    if (signed_.number != chain_.last().number && !add_head()) return false;
    if (!write()) return false;
    if (::fdatasync(file_.get()) != 0) return fail(file_path_.string() + " cannot be written", std::strerror(errno));
    sealed_ = signed_;
    write_head();
    if (!hands_over_) return true;
    hands_over_ = false;
    enters_ = true;
    begin_file(keys_.next().public_key());
    return write() && enter_file();
}

// Overwritten each time, so it is short of a page and always of the same size. It never tells of records that are not
// on the disk, and may tell of older ones than the latest.
void journal::write_head()
{
    auto text = head_line_;
    text.resize(head_size - 1, ' ');
    text += '\n';
    if (!head_) head_ = open_own(how_.folder / head_name, O_WRONLY | O_CREAT);
    if (!head_ || ::pwrite(head_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        head_.reset();
}

// The key of the file before is erased when the new file is on the disk.
bool journal::enter_file()
{
    if (!enters_) return true;
    if (::fsync(file_.get()) != 0) return fail(file_path_.string() + " cannot be written", std::strerror(errno));
    try {
        keys_.take_next();
        enters_ = false;
        retire();
    } catch (const audit_error& failure) {
        return fail("the audit cannot go on with another file", failure.what());
    }
    return write();
}

void journal::begin_file(const std::string& key)
{
    const auto before = chain_.last();
    file_.reset();
    first_of_file_ = before.number + 1;
    file_path_ = how_.folder / file_name_of(first_of_file_);
    file_size_ = 0;
    day_ = today();
    key_ = key;
    std::string fields;
    append_fields(fields, {{"previous", before.digest}, {"key", key}});
    add({std::chrono::system_clock::now(), kind::file, fields, {}});
}

void journal::retire()
{
    if (how_.keep == 0) return;
    auto files = files_in(how_.folder);
    for (auto oldest = files.begin(); files.end() - oldest > static_cast<std::ptrdiff_t>(how_.keep); ++oldest) {
        if (!keep_last_line(*oldest)) return;
        ::unlink(oldest->path.c_str());
        add_own(kind::removed, {{"file", oldest->path.filename().string()}});
    }
}

// The last head of a file hands the signing over to the next key, so from this line on the others can still be
// followed.
bool journal::keep_last_line(const audit_file& oldest)
{
    const auto last = last_line_of(oldest.path);
    const unique_fd retired_file = open_own(how_.folder / retired_name, O_WRONLY | O_APPEND | O_CREAT);
    return retired_file && write_all(retired_file.get(), last) && ::fdatasync(retired_file.get()) == 0;
}

}  // namespace cmcp::audit
