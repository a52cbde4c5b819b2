#include "sandboxes/call_records.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "sandboxes/sandbox_paths.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

namespace cmcp {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::system_clock;

constexpr const char* begun = ".began";
constexpr const char* ended = ".ended";

[[noreturn]] void fail(const fs::path& place)
{
    throw std::system_error(errno, std::generic_category(), place.string());
}

// What a loss of power must not take away is on the disk when this returns.
enum class outlasts { process, power };

void write_file(const fs::path& place, const std::string& text, outlasts what)
{
    const fs::path next = place.string() + ".new";
    const unique_fd file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file || !write_all(file.get(), text)) fail(place);
    if (what == outlasts::power && ::fdatasync(file.get()) != 0) fail(place);
    if (::rename(next.c_str(), place.c_str()) != 0) fail(place);
    if (what == outlasts::process) return;
    const unique_fd folder(::open(place.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) fail(place);
}

// Nothing: there is no such call.
std::optional<json::object> read_call(const fs::path& place)
{
    const unique_fd file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) fail(place);
    return jsonrpc::read_object(read_all(file.get()));
}

std::int64_t milliseconds_of(clock::time_point when)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

struct held_file {
    fs::path place;
    clock::time_point changed;
    std::size_t bytes;

    bool is_begun() const { return place.extension() == begun; }
};

std::vector<held_file> files_in(const fs::path& folder)
{
    std::vector<held_file> all;
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
        struct stat status {};
        if (::lstat(at->path().c_str(), &status) != 0) continue;
        const auto changed =
            std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
        all.push_back({at->path(), clock::time_point(std::chrono::duration_cast<clock::duration>(changed)),
                       static_cast<std::size_t>(status.st_size)});
    }
    return all;
}

// Removes those that are too old.
std::vector<held_file> young_files_in(const fs::path& folder)
{
    auto all = files_in(folder);
    std::erase_if(all, [now = clock::now()](const held_file& each) {
        const auto age = now - each.changed;
        const bool is_old = each.is_begun() ? age > call_records::begun_kept_for : age > call_records::kept_for;
        if (is_old) ::unlink(each.place.c_str());
        return is_old;
    });
    return all;
}

}  // namespace

fs::path call_records::file_of(const named_call& which, const char* end) const
{
    return folder_ / (sha256_hex(which.principal + "\n" + which.key) + end);
}

kept_calls::known call_records::begin(const named_call& which) const
{
    using state = kept_calls::known::state;
    make_private_folder(folder_);
    const auto count = young_files_in(folder_).size();
    const auto end = read_call(file_of(which, ended));
    const auto before = end ? end : read_call(file_of(which, begun));
    if (before && view_of(*before, "request") != which.request) return {state::other};
    if (end && end->contains("result"))
        return {state::ended, std::make_shared<const json::object>(object_of(*end, "result"))};
    if (before) return {state::has_begun};
    if (count >= most_calls) return {state::full};
    write_file(file_of(which, begun), jsonrpc::write_json(json::object{{"request", which.request}}), outlasts::power);
    return {state::begins};
}

void call_records::end(const named_call& which, const kept_calls::kept_result& result) const
{
    json::object said{{"request", which.request}, {"ended", milliseconds_of(clock::now())}};
    if (result) said["result"] = *result;
    auto text = jsonrpc::write_json(said);
    std::size_t bytes = text.size();
    for (const auto& each : files_in(folder_)) bytes += each.bytes;
    if (bytes > most_bytes && result) {
        said.erase("result");
        text = jsonrpc::write_json(said);
    }
    write_file(file_of(which, ended), text, outlasts::power);
    ::unlink(file_of(which, begun).c_str());
}

void call_records::forget(const named_call& which) const
{
    const auto mark = file_of(which, begun);
    if (::unlink(mark.c_str()) != 0 && errno != ENOENT) fail(mark);
}

void call_records::copy(const fs::path& into, clock::time_point when) const
{
    for (const auto& each : files_in(folder_)) {
        const auto name = each.place.filename();
        const auto said = read_call(each.place);
        if (!said || (!each.is_begun() && each.place.extension() != ended)) continue;
        const bool is_certain = each.is_begun() || number_of(*said, "ended") < milliseconds_of(when);
        const auto copied = into / (is_certain ? name : fs::path(name).replace_extension(begun));
        const json::object begin{{"request", view_of(*said, "request")}};
        write_file(copied, jsonrpc::write_json(is_certain ? *said : begin), outlasts::process);
        const auto since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(each.changed.time_since_epoch());
        const timespec changed{since_1970 / std::chrono::seconds(1), (since_1970 % std::chrono::seconds(1)).count()};
        const timespec times[] = {changed, changed};
        ::utimensat(AT_FDCWD, copied.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
}

}  // namespace cmcp
