#include "backup/restore.hpp"
#include "backup/zstd_streams.hpp"
#include "commands/archive_progress.hpp"
#include "commands/commands.hpp"
#include "commands/text_table.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "posix/unique_fd.hpp"
#include "server/admin_socket.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

unique_fd open_archive(const std::string& name)
{
    if (name == "-") return unique_fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    unique_fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw config_error("the backup " + name + " cannot be read: " + std::strerror(errno));
    return file;
}

void print_restored(const backup::restored& done, const fs::path& root, bool json)
{
    const auto path_or_null = [](const fs::path& path) {
        return path.empty() ? json::value() : json::value(path.string());
    };
    if (json) {
        json::object row;
        row["root"] = root.string();
        row["made"] = done.made_at;
        row["version"] = done.version;
        row["entries"] = done.entries;
        row["bytes"] = done.bytes;
        row["settings"] = path_or_null(done.settings);
        row["former"] = path_or_null(done.former);
        std::cout << jsonrpc::write_json(row) << '\n';
        return;
    }
    std::cout << "The backup of " << done.made_at << " (version " << done.version << ") is restored in "
              << root.string() << ": " << done.entries << " files and folders, "
              << bytes_text(static_cast<double>(done.bytes)) << ".\n";
    if (!done.settings.empty())
        std::cout << "Its files of settings are in " << done.settings.string() << "; none of them is in force.\n";
    if (!done.former.empty()) std::cout << "What was there before is in " << done.former.string() << ".\n";
    if (done.lost_attributes) std::cout << "The file system keeps no extended attributes, so these are lost.\n";
    std::cout << "Start the server with: container-mcp serve --sandbox-root " << root.string() << '\n';
}

}  // namespace

int restore(const loaded_settings& loaded, const backup_words& line, bool json)
{
    settings config = loaded.values;
    if (!line.into.empty()) config.sandbox_root = line.into;
    const fs::path root = fs::absolute(config.sandbox_root).lexically_normal();
    if (server_runs(config))
        throw config_error("a server runs in " + root.string() + ": stop it, or restore into another folder (--into)");
    const auto file = open_archive(line.file);
    backup::zstd_source unpacked(file.get());
    backup::archive_reader archive(unpacked);
    archive_progress shown;
    const auto done = backup::read_backup(archive, root, line.force,
                                          [&shown](std::uint64_t bytes) { shown.tell(bytes, "restored"); });
    shown.clear();
    print_restored(done, root, json);
    return 0;
}

}  // namespace cmcp::command
