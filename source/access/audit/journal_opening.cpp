#include "audit/audit_error.hpp"
#include "audit/chain_check.hpp"
#include "audit/journal.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "text/encodings.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// The part of journal that finds an audit as the process before has left it.
namespace cmcp::audit {

namespace {

constexpr int tries_to_lock = 20;
constexpr std::chrono::milliseconds between_locks(100);
constexpr std::size_t longest_head = 4096;
constexpr std::size_t digits_of_day = 10;

journal_options with_folder(journal_options how)
{
    std::error_code failure;
    const bool fresh = std::filesystem::create_directories(how.folder, failure);
    if (failure)
        throw audit_error("AUDIT_FOLDER=" + how.folder.string() + " cannot be made (" + failure.message() +
                          "): name a folder that this user may write to, or set AUDIT=off");
    if (fresh) ::chmod(how.folder.c_str(), 0700);
    return how;
}

bool is_record(const json::object& record, kind one) { return view_of(record, "kind") == name_of(one); }

}  // namespace

journal::journal(journal_options how) : how_(with_folder(std::move(how))), keys_(how_.keys)
{
    lock();
    auto files = files_in(how_.folder);
    while (!files.empty() && !go_on_with(files.back())) files.pop_back();
    if (files.empty()) begin_audit();
    if (!write())
        throw audit_error("the audit cannot be kept (" + trouble_ + "): make room, or name another AUDIT_FOLDER");
}

// A server that ends lets go of it at once, however it ends.
void journal::lock()
{
    lock_ = open_own(how_.folder / lock_name, O_RDWR | O_CREAT);
    if (!lock_)
        throw audit_error("AUDIT_FOLDER=" + how_.folder.string() + " cannot be written (" + std::strerror(errno) +
                          "): name a folder that this user may write to, or set AUDIT=off");
    for (int tries = 0; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (tries == tries_to_lock)
            throw audit_error("another process keeps the audit in " + how_.folder.string() +
                              ": give this one an AUDIT_FOLDER of its own, or set AUDIT=off");
        std::this_thread::sleep_for(between_locks);
    }
}

void journal::begin_audit()
{
    is_new_ = true;
    if (!keys_.has_current()) {
        keys_.make_next();
        keys_.take_next();
    }
    begin_file(keys_.current().public_key());
}

void journal::note_damage(const std::filesystem::path& file, const chain_fault& fault)
{
    if (damage_.empty()) damage_ = file.string() + ", line " + std::to_string(fault.line) + ": " + fault.problem;
}

// A line without its newline may be whole, or cut off.
void journal::follow(const audit_file& latest, chain_check& check)
{
    const auto take = [&](std::string_view line) {
        if (const auto fault = check.take(line)) {
            note_damage(latest.path, *fault);
            check.trust(line);
        }
        if (check.records() == 1) day_ = text_of(check.record(), "at").substr(0, digits_of_day);
        if (!is_record(check.record(), kind::head)) was_stopped_ = is_record(check.record(), kind::stop);
    };
    check.begin_file(latest.first);
    line_reader lines(latest.path);
    while (const auto line = lines.next()) take(*line);
    if (lines.rest().empty()) return;
    take(lines.rest());
    text_ = "\n";
}

// False: the file has no record, because the server ended while it made the file.
bool journal::go_on_with(const audit_file& latest)
{
    chain_check check;
    follow(latest, check);
    if (check.records() == 0) {
        text_.clear();
        return ::unlink(latest.path.c_str()) != 0;
    }
    chain_ = chain(check.last());
    sealed_ = signed_ = check.sealed();
    file_path_ = latest.path;
    first_of_file_ = latest.first;
    key_ = check.key();
    open_latest();
    choose_key(check.next_key().empty() ? check.key() : check.next_key());
    mend_end(check);
    look_at_head();
    if (!check.next_key().empty()) begin_file(check.next_key());
    return true;
}

void journal::open_latest()
{
    file_ = open_own(file_path_, O_RDWR | O_APPEND);
    struct stat status {};
    if (!file_ || ::fstat(file_.get(), &status) != 0)
        throw audit_error(file_path_.string() + " cannot be written (" + std::strerror(errno) +
                          "): let this user write to it, or set AUDIT=off");
    file_size_ = static_cast<std::uint64_t>(status.st_size);
}

void journal::choose_key(const std::string& wanted)
{
    if (keys_.choose(wanted)) return;
    throw audit_error(
        "the key in " + how_.keys.string() + " is not the one that signs the last file of the audit in " +
        how_.folder.string() +
        ": records are missing at its end, or the folder is another one. Put it right, or move both folders away "
        "to begin a new audit");
}

// No byte is taken away: the record says which bytes before it are none.
void journal::mend_end(const chain_check& check)
{
    const auto& cut_off = check.doubtful_text();
    if (!cut_off.empty() && !check.next_key().empty())
        note_damage(file_path_, {0, "the file goes on behind its last record"});
    else if (!cut_off.empty())
        add_own(kind::torn, {{"bytes", cut_off.size()}, {"sha256", sha256_hex(cut_off)}});
    if (!write())
        throw audit_error("the audit cannot be kept (" + trouble_ + "): make room, or name another AUDIT_FOLDER");
}

// The latest head tells how far the audit went. Somebody who removes records has to remove this, too.
void journal::look_at_head()
{
    const unique_fd file(::open((how_.folder / head_name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const auto text = file ? read_at(file.get(), 0, longest_head) : std::nullopt;
    if (!text) return;
    const auto line = text->substr(0, text->find_last_not_of(" \n") + 1);
    const auto latest = position_in(line);
    if (is_signed_head(line) && latest.number > chain_.last().number)
        note_damage(how_.folder / head_name, {1, "records " + std::to_string(chain_.last().number + 1) + " to " +
                                                     std::to_string(latest.number) + " are missing at the end"});
}

}  // namespace cmcp::audit
