#include "commands/archive_progress.hpp"
#include "commands/attached_program.hpp"
#include "commands/commands.hpp"
#include "commands/remote_choice.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_of_file = 256 * 1024;

/// A side of a copy.
struct copy_end {
    enum class kind { local, remote, stream };
    kind is = kind::local;
    std::string sandbox{};  ///< empty: the default one
    std::string path{};
};

copy_end end_of(const std::string& word)
{
    if (word == "-") return {copy_end::kind::stream};
    const auto colon = word.find(':');
    const auto slash = word.find('/');
    if (colon == std::string::npos || slash < colon) return {copy_end::kind::local, {}, word};
    return {copy_end::kind::remote, word.substr(0, colon), word.substr(colon + 1)};
}

[[noreturn]] void cannot(const char* what, const std::string& path)
{
    throw std::runtime_error(path + " cannot be " + what + ": " + std::strerror(errno));
}

std::string base_name(std::string path)
{
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path.substr(path.rfind('/') + 1);
}

std::string joined_path(const std::string& folder, const std::string& name)
{
    if (folder.empty() || folder == ".") return name;
    return folder + (folder.ends_with('/') ? "" : "/") + name;
}

/// What a copy works with, and what it has done.
struct copying {
    server_client& server;
    found_sandbox where;
    archive_progress shown{"interrupted; what was copied by then stays"};
    std::uint64_t bytes = 0;
    std::vector<std::string> left_out{};

    void count(std::uint64_t more)
    {
        bytes += more;
        shown.tell(bytes, "copied");
    }

    std::string target(const std::string& path) const
    {
        const auto part = query_part(where);
        return "/sandbox/file?" + part + (part.empty() ? "" : "&") + "file_path=" + in_query(path);
    }

    json::object arguments(const std::string& path) const
    {
        json::object all{{"path", path.empty() ? std::string(".") : path}};
        if (!where.id.empty()) all["sandbox_id"] = where.id;
        return all;
    }
};
using shared_copying = std::shared_ptr<copying>;

// ---------------------------------------------------------------- what is in the sandbox
struct remote_entry {
    std::string path;
    std::string type;
};

awaitable<bool> is_remote_folder(shared_copying work, std::string path)
{
    if (path.empty() || path.ends_with('/')) co_return true;
    auto question = work->arguments(path);
    bool is_folder = false;
    try {
        const auto page = co_await work->server.tool("list_sandbox_files", std::move(question));
        is_folder = page.contains("entries");
    } catch (const server_refusal& refusal) {
        if (refusal.status != 404 && refusal.status != 400) throw;
    }
    co_return is_folder;
}

void add_entries(copying& work, std::vector<remote_entry>& to, const json::object& page)
{
    for (const auto& each : page.at("entries").as_array()) {
        const auto& row = each.as_object();
        if (row.contains("name_base64"))
            work.left_out.push_back(text_of(row, "path") + " (its name is no UTF-8)");
        else
            to.push_back({text_of(row, "path"), text_of(row, "type")});
    }
}

awaitable<std::vector<remote_entry>> entries_below(shared_copying work, std::string path)
{
    std::vector<remote_entry> all;
    std::string cursor;
    do {
        auto question = work->arguments(path);
        question["recursive"] = true;
        if (!cursor.empty()) question["cursor"] = cursor;
        const auto page = co_await work->server.tool("list_sandbox_files", std::move(question));
        add_entries(*work, all, page);
        cursor = text_of(page, "next_cursor");
        if (const auto note = text_of(page, "note"); !note.empty() && cursor.empty() && !all.empty())
            work->left_out.push_back(note);
    } while (!cursor.empty());
    co_return all;
}

// ---------------------------------------------------------------- out of the sandbox
/// A file that has its name only once it is whole.
class local_file {
public:
    explicit local_file(fs::path path)
        : path_(std::move(path)), draft_(path_.string() + ".part." + std::to_string(::getpid()))
    {
        file_ = unique_fd(::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
        if (!file_) cannot("written", draft_.string());
    }
    local_file(const local_file&) = delete;
    local_file& operator=(const local_file&) = delete;
    ~local_file()
    {
        if (file_) ::unlink(draft_.c_str());
    }

    void write(std::string_view bytes)
    {
        if (!write_all(file_.get(), bytes)) cannot("written", draft_.string());
    }

    void finish()
    {
        if (::rename(draft_.c_str(), path_.c_str()) != 0) cannot("written", path_.string());
        file_.reset();
    }

private:
    fs::path path_, draft_;
    unique_fd file_;
};

awaitable<> write_piece(shared_copying work, std::shared_ptr<local_file> to, std::string bytes)
{
    to->write(bytes);
    work->count(bytes.size());
    co_return;
}

awaitable<> download_file(shared_copying work, std::string path, fs::path to)
{
    const auto file = std::make_shared<local_file>(std::move(to));
    const server_client::piece_handler take = [work, file](std::string bytes, std::optional<std::uint64_t>) {
        return write_piece(work, file, std::move(bytes));
    };
    co_await work->server.download(work->target(path), take);
    file->finish();
}

awaitable<> write_output(std::string bytes)
{
    if (!write_all(STDOUT_FILENO, bytes)) throw closed_output();
    co_return;
}

awaitable<> download_to_output(shared_copying work, std::string path)
{
    const server_client::piece_handler take = [](std::string bytes, std::optional<std::uint64_t>) {
        return write_output(std::move(bytes));
    };
    co_await work->server.download(work->target(path), take);
}

// The part of a listed path behind that of the folder, if it stays below it.
std::optional<fs::path> path_below(const std::string& path, const std::string& folder)
{
    auto rest = std::string_view(path);
    if (!folder.empty() && rest.starts_with(folder)) rest.remove_prefix(folder.size());
    while (rest.starts_with('/')) rest.remove_prefix(1);
    const fs::path below(rest);
    const bool stays = !rest.empty() && std::ranges::none_of(below, [](const fs::path& part) { return part == ".."; });
    return stays ? std::optional(below) : std::nullopt;
}

awaitable<> download_folder(shared_copying work, std::string path, fs::path to)
{
    while (path.ends_with('/')) path.pop_back();
    if (path == ".") path.clear();
    const auto entries = co_await entries_below(work, path);
    fs::create_directories(to);
    for (const auto& each : entries) {
        const auto below = path_below(each.path, path);
        if (!below) continue;
        if (each.type == "directory") {
            fs::create_directories(to / *below);
        } else if (each.type == "file") {
            fs::create_directories((to / *below).parent_path());
            co_await download_file(work, each.path, to / *below);
        } else {
            work->left_out.push_back(each.path + " (" + each.type + ")");
        }
    }
}

awaitable<> copy_out(shared_copying work, copy_end from, copy_end to)
{
    const bool is_folder = co_await is_remote_folder(work, from.path);
    if (to.is == copy_end::kind::stream) {
        if (is_folder) throw config_error("a folder cannot go to standard output; name a folder for it");
        co_await download_to_output(work, from.path);
        co_return;
    }
    fs::path target = to.path;
    const auto name = base_name(from.path);
    if (fs::is_directory(target) && !name.empty() && name != ".") target /= name;
    if (!is_folder && to.path.ends_with('/') && !fs::is_directory(to.path))
        throw config_error("there is no folder " + to.path + " here: make it first");
    if (is_folder)
        co_await download_folder(work, from.path, target);
    else
        co_await download_file(work, from.path, target);
}

// ---------------------------------------------------------------- into the sandbox
awaitable<std::string> read_piece_of(shared_copying work, int fd)
{
    std::string bytes(piece_of_file, '\0');
    ssize_t length = -1;
    do length = ::read(fd, bytes.data(), bytes.size());
    while (length < 0 && errno == EINTR);
    if (length < 0) cannot("read", "the file");
    bytes.resize(static_cast<std::size_t>(length));
    work->count(bytes.size());
    co_return bytes;
}

awaitable<> upload_from(shared_copying work, std::shared_ptr<unique_fd> file, std::string path,
                        std::optional<std::uint64_t> size)
{
    const server_client::piece_source next = [work, file] { return read_piece_of(work, file->get()); };
    co_await work->server.upload(work->target(path), next, size);
}

awaitable<> upload_file(shared_copying work, fs::path from, std::string path)
{
    const auto file = std::make_shared<unique_fd>(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!*file) cannot("read", from.string());
    struct stat what {};
    if (::fstat(file->get(), &what) != 0) cannot("read", from.string());
    std::optional<std::uint64_t> size;
    if (S_ISREG(what.st_mode)) size = static_cast<std::uint64_t>(what.st_size);
    co_await upload_from(work, file, std::move(path), size);
}

/// What a program in the sandbox makes behind the files of a folder: NUL ends each name.
struct rest_of_folder {
    std::string folders{}, executables{}, links{};  ///< of a link its target, then its path
};

// `command`: words between blanks, to which xargs adds the names.
awaitable<> make_rest(shared_copying work, std::string command, std::string names)
{
    if (names.empty()) co_return;
    const std::string whole = "xargs -0 " + command;
    const auto words = split(whole, ' ');
    std::vector<std::string> argv(words.begin(), words.end());
    auto sandbox = query_part(work->where);
    const auto done = co_await run_with(work->server, std::move(sandbox), std::move(argv), std::move(names));
    if (done.code != 0) throw std::runtime_error("`" + command + "` failed in the sandbox: " + done.err);
}

std::string with_nul(const std::string& text) { return text + '\0'; }

awaitable<> upload_folder(shared_copying work, fs::path from, std::string path)
{
    rest_of_folder rest;
    rest.folders = with_nul(path.empty() ? "." : "./" + path);
    for (const auto& each : fs::recursive_directory_iterator(from)) {
        const auto there = joined_path(path, each.path().lexically_relative(from).string());
        const auto inside = with_nul(there.starts_with('/') ? there : "./" + there);
        const auto status = each.symlink_status();
        if (fs::is_symlink(status)) {
            rest.links += with_nul(fs::read_symlink(each.path()).string()) + inside;
        } else if (fs::is_directory(status)) {
            rest.folders += inside;
        } else if (fs::is_regular_file(status)) {
            co_await upload_file(work, each.path(), there);
            if ((status.permissions() & fs::perms::owner_exec) != fs::perms::none) rest.executables += inside;
        } else {
            work->left_out.push_back(each.path().string() + " (no file, folder or link)");
        }
    }
    co_await make_rest(work, "mkdir -p --", std::move(rest.folders));
    co_await make_rest(work, "chmod a+x --", std::move(rest.executables));
    co_await make_rest(work, "-n 2 ln -sfn --", std::move(rest.links));
}

awaitable<> copy_in(shared_copying work, copy_end from, copy_end to)
{
    if (from.is == copy_end::kind::stream) {
        if (to.path.empty() || to.path.ends_with('/'))
            throw config_error("name the file in the sandbox that standard input becomes, as SANDBOX:notes.txt");
        const auto input = std::make_shared<unique_fd>(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
        co_await upload_from(work, input, to.path, std::nullopt);
        co_return;
    }
    if (!fs::exists(from.path)) throw config_error("there is no " + from.path + " here");
    const bool into_folder = co_await is_remote_folder(work, to.path);
    const auto name = base_name(from.path);
    const bool is_named = !name.empty() && name != "." && name != "..";
    const auto target = into_folder && is_named ? joined_path(to.path, name) : to.path;
    if (fs::is_directory(from.path)) {
        co_await upload_folder(work, from.path, target);
        co_return;
    }
    co_await upload_file(work, from.path, target);
    const bool runs = (fs::status(from.path).permissions() & fs::perms::owner_exec) != fs::perms::none;
    auto executable = with_nul(target.starts_with('/') ? target : "./" + target);
    if (runs) co_await make_rest(work, "chmod a+x --", std::move(executable));
}

awaitable<int> copy_in_or_out(server_client& server, copy_end from, copy_end to)
{
    const bool out = from.is == copy_end::kind::remote;
    auto word = out ? from.sandbox : to.sandbox;
    auto where = co_await find_sandbox(server, std::move(word));
    const auto work = std::shared_ptr<copying>(new copying{server, std::move(where)});
    if (out)
        co_await copy_out(work, std::move(from), std::move(to));
    else
        co_await copy_in(work, std::move(from), std::move(to));
    work->shown.clear();
    for (const auto& each : work->left_out) std::cerr << "container-mcp: left out: " << each << '\n';
    co_return work->left_out.empty() ? 0 : 1;
}

}  // namespace

int copy(const loaded_settings& loaded, const copy_words& line)
{
    const auto from = end_of(line.from), to = end_of(line.to);
    const bool out = from.is == copy_end::kind::remote, in = to.is == copy_end::kind::remote;
    if (out && in)
        throw config_error("both sides are in sandboxes; for a file: container-mcp cp " + line.from +
                           " - | container-mcp cp - " + line.to);
    if (!out && !in) throw config_error("one side must be in a sandbox, written as SANDBOX:PATH");
    return with_server(loaded.values, line.server,
                       [&](server_client& server) { return copy_in_or_out(server, from, to); });
}

}  // namespace cmcp::command
