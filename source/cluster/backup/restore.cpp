#include "backup/restore.hpp"

#include "backup/backup_names.hpp"
#include "backup/bad_archive.hpp"
#include "backup/tree_restorer.hpp"
#include "files/trees.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "text/random_id.hpp"
#include "text/time_text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace cmcp::backup {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_about = 64 * 1024;
constexpr std::size_t longest_settings = 1 << 20;
constexpr const char* restored_settings = "restored-settings";

std::runtime_error cannot_restore(const fs::path& place)
{
    return std::runtime_error(place.string() + " cannot be written: " + std::strerror(errno));
}

void make_folder_at(const fs::path& place)
{
    if (::mkdir(place.c_str(), 0700) != 0) throw cannot_restore(place);
}

std::vector<fs::path> content_of(const fs::path& folder)
{
    std::vector<fs::path> all;
    for (const auto& each : fs::directory_iterator(folder)) all.push_back(each.path());
    return all;
}

void move_all(const std::vector<fs::path>& what, const fs::path& to)
{
    for (const auto& each : what)
        if (::rename(each.c_str(), (to / each.filename()).c_str()) != 0) throw cannot_restore(each);
}

// Servers hold this lock as long as they run.
void refuse_running_server(const fs::path& root)
{
    const unique_fd lock(::open((root / "sandboxes/.lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        throw std::runtime_error("a server runs in " + root.string() + ": stop it, or restore into another folder");
}

class restore_run {
public:
    restore_run(archive_reader& from, const fs::path& root, bool force, const std::function<void(std::uint64_t)>& tell)
        : from_(from), root_(fs::absolute(root).lexically_normal()), tell_(tell)
    {
        std::error_code ignored;
        made_root_ = fs::create_directories(root_, ignored);
        if (made_root_) fs::permissions(root_, fs::perms::owner_all);
        if (!fs::is_directory(root_)) throw cannot_restore(root_);
        refuse_running_server(root_);
        before_ = content_of(root_);
        if (!before_.empty() && !force)
            throw std::runtime_error(root_.string() +
                                     " is not empty: restore into another folder, or say --force, which moves aside "
                                     "what is there");
        passing_ = root_ / (".restore-" + random_id(8));
        make_folder_at(passing_);
        folder_ = unique_fd(::open(passing_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!folder_) throw cannot_restore(passing_);
    }
    restore_run(const restore_run&) = delete;
    restore_run& operator=(const restore_run&) = delete;
    ~restore_run()
    {
        std::error_code ignored;
        if (fs::exists(passing_, ignored)) whole(remove_tree(passing_));
        if (made_root_) ::rmdir(root_.c_str());  // stays where something is in it
    }

    restored go_through()
    {
        read_about();
        struct stat status {};
        if (::stat(root_.c_str(), &status) != 0) throw cannot_restore(root_);
        tree_restorer trees(folder_.get(), "root", file_owner(status));
        while (const auto next = from_.next()) {
            add(*next, trees);
            if (tell_) tell_(from_.bytes());
        }
        trees.finish();
        done_.lost_attributes = trees.lost_attributes();
        done_.entries = from_.entries();
        done_.bytes = from_.bytes();
        ::syncfs(folder_.get());
        put_in_place();
        return done_;
    }

private:
    void read_about()
    {
        const auto first = from_.next();
        if (!first || first->path != names::about || first->is != entry::kind::file)
            throw bad_archive("this is no backup of Container-MCP");
        const auto about = jsonrpc::read_object(from_.text(longest_about));
        const auto format = number_of(about, "format");
        // The folder that root makes belongs to whom it belonged, because the server runs as that user.
        const auto uid = static_cast<uid_t>(number_of(about, "uid")), gid = static_cast<gid_t>(number_of(about, "gid"));
        if (made_root_ && ::geteuid() == 0 && ::chown(root_.c_str(), uid, gid) != 0) throw cannot_restore(root_);
        done_.made_at = text_of(about, "made");
        done_.version = text_of(about, "version");
        if (format > format_version)
            throw bad_archive("the backup was made by version " + done_.version +
                              " in a newer form than this program reads: restore it with that version");
        if (format < 1) throw bad_archive("this is no backup of Container-MCP");
    }

    void add(const entry& of, tree_restorer& trees)
    {
        if (of.path.starts_with(std::string(names::root) + "/")) return trees.add(of, from_);
        if (of.path.starts_with(names::settings)) return add_settings(of);
        throw bad_archive("the archive has an entry that no backup has: " + of.path.substr(0, 200));
    }

    void add_settings(const entry& of)
    {
        const std::string name = of.path.substr(std::strlen(names::settings));
        check_entry_path(name);
        if (of.is != entry::kind::file || name.find('/') != std::string::npos)
            throw bad_archive("the archive has settings that are no file");
        const fs::path folder = passing_ / restored_settings;
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw cannot_restore(folder);
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        const unique_fd file(::open((folder / name).c_str(), flags, 0600));
        if (!file) throw bad_archive("the archive has settings of one name twice");
        if (!write_all(file.get(), from_.text(longest_settings))) throw cannot_restore(folder / name);
        done_.settings = root_ / restored_settings;
    }

    void put_in_place()
    {
        if (!before_.empty()) {
            done_.former = root_ / (".before-restore-" + utc_text(std::time(nullptr), "%Y%m%dT%H%M%SZ") + random_id(2));
            make_folder_at(done_.former);
            move_all(before_, done_.former);
        }
        move_all(content_of(passing_), root_);
        made_root_ = false;
    }

    archive_reader& from_;
    fs::path root_;
    const std::function<void(std::uint64_t)>& tell_;
    bool made_root_ = false;
    std::vector<fs::path> before_;
    fs::path passing_;
    unique_fd folder_;
    restored done_;
};

}  // namespace

restored read_backup(archive_reader& from, const fs::path& root, bool force,
                     const std::function<void(std::uint64_t bytes)>& tell)
{
    return restore_run(from, root, force, tell).go_through();
}

}  // namespace cmcp::backup
