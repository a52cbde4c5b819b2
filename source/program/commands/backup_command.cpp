#include "backup/backup.hpp"
#include "backup/zstd_streams.hpp"
#include "commands/archive_progress.hpp"
#include "commands/commands.hpp"
#include "commands/text_table.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "posix/unique_fd.hpp"
#include "server/act_record.hpp"
#include "server/admin_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr auto longest_copy = std::chrono::hours(2);

config_error no_archive(const std::string& file, const std::string& why)
{
    return config_error("the backup " + file + " cannot be written: " + why);
}

/// The file of a backup, which has its name once it is whole.
class archive_file {
public:
    archive_file(const std::string& name, const fs::path& root, bool force) : name_(name), is_pipe_(name == "-")
    {
        if (is_pipe_) {
            if (::isatty(STDOUT_FILENO) != 0)
                throw no_archive("-", "a terminal takes no archive; say > FILE, or | COMMAND");
            return;
        }
        const auto whole = fs::weakly_canonical(name_).lexically_relative(fs::weakly_canonical(root));
        if (!whole.empty() && *whole.begin() != "..") throw no_archive(name_, "it would be a part of itself there");
        if (fs::exists(fs::symlink_status(name_)) && !force)
            throw no_archive(name_, "it is there already; --force replaces it");
        file_ = unique_fd(::open(partial().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file_) throw no_archive(partial(), std::strerror(errno));
    }
    archive_file(const archive_file&) = delete;
    archive_file& operator=(const archive_file&) = delete;
    ~archive_file()
    {
        if (file_) ::unlink(partial().c_str());
    }

    int descriptor() const { return is_pipe_ ? STDOUT_FILENO : file_.get(); }

    void keep()
    {
        if (is_pipe_) return;
        if (::fsync(file_.get()) != 0 || ::rename(partial().c_str(), name_.c_str()) != 0)
            throw no_archive(name_, std::strerror(errno));
        file_.reset();
    }

private:
    std::string partial() const { return name_ + ".partial"; }

    std::string name_;
    bool is_pipe_;
    unique_fd file_;
};

// Files that a command of root makes beside a database would be closed to the server.
void act_as_owner(const fs::path& root)
{
    struct stat status {};
    if (::geteuid() != 0 || ::stat(root.c_str(), &status) != 0 || status.st_uid == 0) return;
    if (::setgroups(1, &status.st_gid) != 0 || ::setegid(status.st_gid) != 0 || ::seteuid(status.st_uid) != 0)
        throw std::runtime_error("the rights of the owner of " + root.string() +
                                 " cannot be had: " + std::strerror(errno));
}

// The server copies within the turns of a sandbox's kernels, whose variables nobody else can read.
backup::copy_aside copies_by_server(const settings& config, std::vector<std::string>& problems)
{
    return [&config, &problems](const std::string& id) -> std::optional<fs::path> {
        const auto answer = ask_administration(config, "POST", "/admin/copies/" + id, {{}, longest_copy});
        if (answer.status == 404) return std::nullopt;  // deleted meanwhile
        if (answer.status != 200) {
            problems.push_back(id +
                               ": read while it is in use, without its kernels' variables, because the server says: " +
                               text_of(answer.body, "error"));
            return std::nullopt;
        }
        if (const auto busy = number_of(answer.body, "busy_kernels"); busy > 0)
            problems.push_back(id + ": a kernel ran code, so its variables are not in the backup");
        return fs::path(text_of(answer.body, "copy"));
    };
}

std::vector<fs::path> absolute_files(const std::vector<fs::path>& files)
{
    std::vector<fs::path> all;
    for (const auto& each : files) all.push_back(fs::absolute(each));
    return all;
}

void print_backup(const backup_words& line, const backup::backup_progress& done, std::uint64_t compressed, bool json)
{
    if (json) {
        json::object row;
        row["file"] = line.file;
        row["entries"] = done.entries;
        row["bytes"] = done.bytes;
        row["compressed_bytes"] = compressed;
        row["sandboxes"] = done.sandboxes;
        row["left_out"] = done.left_out;
        row["problems"] = json::value_from(done.problems);
        (line.file == "-" ? std::cerr : std::cout) << jsonrpc::write_json(row) << '\n';
        return;
    }
    for (const auto& problem : done.problems) std::cerr << "note: " << problem << '\n';
    std::cerr
        << done.entries << " files and folders, " << done.sandboxes << " sandboxes, "
        << bytes_text(static_cast<double>(done.bytes)) << " in " << bytes_text(static_cast<double>(compressed))
        << ".\nThe backup holds keys, tokens and everybody's files: keep it as closed as the server's own folder.\n";
}

}  // namespace

int back_up(const loaded_settings& loaded, const settings_sources& sources, const backup_words& line, bool json)
{
    const auto& config = loaded.values;
    const fs::path root = fs::absolute(config.sandbox_root).lexically_normal();
    if (!fs::is_directory(root))
        throw config_error("there is no SANDBOX_ROOT=" + root.string() +
                           ": name the folder of the server with "
                           "--sandbox-root");
    archive_progress shown;  // first, because a signal from here on must leave nothing
    archive_file file(line.file, root, line.force);
    act_as_owner(root);
    act_record(config, "backup").done(line.file);  // before, so that no server waits for the audit until the end
    backup::backup_order order{
        root, line.images, {line.only, line.without}, absolute_files(settings_files(sources)), {}};
    std::vector<std::string> problems;
    if (server_runs(config)) order.copy = copies_by_server(config, problems);
    backup::zstd_sink packed(file.descriptor());
    backup::archive_writer archive(packed);
    auto done = backup::write_backup(order, archive, [&](const backup::backup_progress& at) {
        shown.tell(at.bytes, std::to_string(at.sandboxes) + " of " + std::to_string(at.of_sandboxes) + " sandboxes");
    });
    packed.finish();
    file.keep();
    shown.clear();
    done.problems.insert(done.problems.begin(), problems.begin(), problems.end());
    print_backup(line, done, packed.written(), json);
    return 0;
}

}  // namespace cmcp::command
