#include "sandboxes/sandbox_paths.hpp"

#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "files/sandbox_homes.hpp"
#include "files/trees.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/ascii.hpp"
#include "text/handles.hpp"
#include "text/random_id.hpp"
#include "wire/run_request.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

namespace cmcp {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view install_mark = "installing-";

constexpr std::size_t most_entries = 10'000;  // of one folder
constexpr std::size_t longest_description = 256 << 10;
constexpr const char* user_libraries = ".local/lib";

std::vector<std::string> names(int root, const std::string& folder)
{
    std::vector<std::string> all;
    unique_fd opened = file_root::open_beneath(root, folder, O_RDONLY | O_DIRECTORY);
    if (!opened) return all;
    folder_reader reader(std::move(opened));
    if (!reader) return all;
    for (auto& item : reader.read_all(most_entries)) all.push_back(std::move(item.name));
    return all;
}

bool is_file(int root, const std::string& path)
{
    const unique_fd opened = file_root::open_beneath(root, path, O_PATH | O_NOFOLLOW);
    struct stat status {};
    return opened && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// A long file is read up to its limit.
std::string read_file(int root, const std::string& path)
{
    if (!is_file(root, path)) return {};
    const unique_fd file = file_root::open_beneath(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file) return {};
    return read_at(file.get(), 0, longest_description).value_or("");
}

// A field of METADATA, whose header is like that of a mail (Core metadata specifications).
std::string field(const std::string& metadata, std::string_view name)
{
    const std::string head = metadata.substr(0, metadata.find("\n\n"));
    const std::string wanted = "\n" + std::string(name) + ": ";
    const std::string lines = "\n" + head;
    const auto at = lines.find(wanted);
    if (at == std::string::npos) return {};
    const auto begin = at + wanted.size();
    std::string value = lines.substr(begin, lines.find('\n', begin) - begin);
    while (!value.empty() && (value.back() == '\r' || value.back() == ' ')) value.pop_back();
    return value;
}

std::string as_listed(const std::string& name)
{
    std::string listed = lower_case(name);
    std::replace(listed.begin(), listed.end(), '_', '-');
    return listed;
}

using see_distribution = std::function<void(const std::string& site, const std::string& name)>;

void each_distribution(int root, const see_distribution& see)
{
    for (const auto& version : names(root, user_libraries)) {
        const std::string site = std::string(user_libraries) + "/" + version + "/site-packages";
        for (const auto& name : names(root, site))
            if (name.ends_with(".dist-info")) see(site, name);
    }
}

void add_node_package(int root, const std::string& name, std::map<std::string, std::string>& versions)
{
    const auto described = jsonrpc::read_object(read_file(root, "node_modules/" + name + "/package.json"));
    if (const auto* version = described.if_contains("version"); version != nullptr && version->is_string())
        versions["npm:" + name] = std::string(version->get_string());
}

// Where there are no such ids, as in a small container, it stays the server's own.
void give_to_machine(const fs::path& place)
{
    if (::geteuid() != 0) return;
    const unique_fd folder(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    static_cast<void>(folder && ::fchown(folder.get(), sandbox::machine_owner, sandbox::machine_owner) == 0);
}

}  // namespace

void make_private_folder(const fs::path& place)
{
    if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST)
        throw std::system_error(errno, std::generic_category(), place.string());
}

fs::path sandbox_paths::snapshot(std::string_view id, std::string_view snapshot) const
{
    return root_ / id / "snapshots" / snapshot;
}

fs::path sandbox_paths::files(const sandbox_record& of) const
{
    return of.is_default() ? root_.parent_path() / of.home : folder(of.id) / "workspace";
}

void sandbox_paths::make(const sandbox_record& of) const
{
    make_private_folder(folder(of.id));
    make_private_folder(folder(of.id) / "snapshots");
    make_files(of);
}

void sandbox_paths::make_files(const sandbox_record& of) const
{
    const auto place = files(of);
    if (of.home.find('/') != std::string::npos) {
        make_private_folder(place.parent_path().parent_path());  // of all callers, or sessions
        make_private_folder(place.parent_path());
    }
    make_private_folder(place);
    if (of.machine) give_to_machine(place);
}

bool sandbox_paths::exists(const sandbox_record& of) const
{
    std::error_code none;
    return fs::is_directory(files(of), none);
}

std::vector<fs::path> sandbox_paths::folders(const sandbox_record& of) const
{
    std::vector<fs::path> all{folder(of.id)};
    if (of.is_default()) all.push_back(sandbox_homes::is_of_session(of.home) ? files(of).parent_path() : files(of));
    return all;
}

fs::path sandbox_paths::discard(const fs::path& what) const
{
    make_private_folder(trash());
    fs::path moved = trash() / random_id();
    // A file system of its own stays where it is.
    const bool stays = ::rename(what.c_str(), moved.c_str()) != 0 && (errno == EXDEV || errno == EBUSY);
    return stays ? what : moved;
}

void sandbox_paths::remove(const fs::path& what) const { whole(remove_tree(discard(what))); }

void sandbox_paths::clear_trash() const
{
    std::error_code none;
    std::vector<fs::path> left;
    for (fs::directory_iterator at(trash(), none), end; !none && at != end; at.increment(none))
        left.push_back(at->path());
    for (const auto& each : left) whole(remove_tree(each));
}

fs::path sandbox_paths::make_aside(std::string_view handle) const
{
    make_private_folder(superseded());
    fs::path folder = superseded() / (std::string(handle) + "." + random_id());
    make_private_folder(folder);
    return folder;
}

void sandbox_paths::set_files_aside(const sandbox_record& of, const fs::path& to) const
{
    const auto outputs = files(of) / sandbox_homes::outputs_folder;
    ::rename(files(of).c_str(), to.c_str());
    make_private_folder(files(of));
    ::rename((to / sandbox_homes::outputs_folder).c_str(), outputs.c_str());
}

void sandbox_paths::take(const sandbox_record& of, const fs::path& fresh) const
{
    if (of.is_default()) {
        make(of);
        if (sandbox_homes::has_files(files(of))) set_files_aside(of, make_aside(of.id) / "workspace");
        const auto outputs = files(of) / sandbox_homes::outputs_folder;
        ::rename(outputs.c_str(), (fresh / "workspace" / sandbox_homes::outputs_folder).c_str());
        fs::rename(fresh / "workspace", files(of));
        remove(folder(of.id));
    }
    fs::rename(fresh, folder(of.id));
}

void sandbox_paths::supersede(const sandbox_record& of) const
{
    make_private_folder(superseded());
    const fs::path moved = superseded() / (of.id + "." + random_id());
    ::rename(folder(of.id).c_str(), moved.c_str());
    if (of.is_default()) set_files_aside(of, moved / "workspace");
    ::utimensat(AT_FDCWD, moved.c_str(), nullptr, 0);  // from when on it is here
}

void sandbox_paths::clear_superseded(std::chrono::milliseconds kept_for) const
{
    std::error_code none;
    const auto oldest = fs::file_time_type::clock::now() - kept_for;
    std::vector<fs::path> old;
    for (fs::directory_iterator at(superseded(), none), end; !none && at != end; at.increment(none))
        if (fs::last_write_time(at->path(), none) < oldest) old.push_back(at->path());
    for (const auto& each : old) remove(each);
}

fs::path sandbox_paths::make_passing() const
{
    make_private_folder(trash());
    fs::path folder = trash() / random_id();
    make_private_folder(folder);
    return folder;
}

std::string sandbox_paths::mark_install(std::string_view id) const
{
    std::string mark = std::string(install_mark) + random_id();
    const fs::path place = folder(id) / mark;
    const unique_fd mark_file(::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!mark_file) throw std::system_error(errno, std::generic_category(), place.string());
    return mark;
}

void sandbox_paths::unmark_install(std::string_view id, const std::string& mark) const
{
    ::unlink((folder(id) / mark).c_str());
}

bool sandbox_paths::end_marked_installs(const sandbox_record& of) const
{
    std::error_code none;
    const auto& id = of.id;
    std::vector<std::string> marks;
    for (fs::directory_iterator at(folder(id), none), end; !none && at != end; at.increment(none))
        if (at->path().filename().string().starts_with(install_mark)) marks.push_back(at->path().filename().string());
    if (marks.empty()) return false;
    make_private_folder(trash());
    remove_half_installed(files(of), trash());
    for (const auto& mark : marks) unmark_install(id, mark);
    return true;
}

std::vector<std::string> sandbox_paths::all() const
{
    std::vector<std::string> ids;
    std::error_code none;
    for (fs::directory_iterator at(root_, none), end; !none && at != end; at.increment(none)) {
        std::string name = at->path().filename().string();
        if (handle_maker::fits("sbx", name)) ids.push_back(std::move(name));
    }
    return ids;
}

std::map<std::string, std::string> installed_packages(const std::filesystem::path& files)
{
    std::map<std::string, std::string> versions;
    const unique_fd root = open_folder(AT_FDCWD, files.c_str());
    if (!root) return versions;
    each_distribution(root.get(), [&](const std::string& site, const std::string& name) {
        if (!is_file(root.get(), site + "/" + name + "/RECORD")) return;
        const std::string metadata = read_file(root.get(), site + "/" + name + "/METADATA");
        if (const auto called = field(metadata, "Name"); !called.empty())
            versions[as_listed(called)] = field(metadata, "Version");
    });
    for (const auto& name : names(root.get(), "node_modules")) {
        if (!name.starts_with('@'))
            add_node_package(root.get(), name, versions);
        else
            for (const auto& inner : names(root.get(), "node_modules/" + name))
                add_node_package(root.get(), name + "/" + inner, versions);
    }
    return versions;
}

void remove_half_installed(const std::filesystem::path& files, const std::filesystem::path& trash)
{
    const unique_fd root = open_folder(AT_FDCWD, files.c_str());
    if (!root) return;
    each_distribution(root.get(), [&](const std::string& site, const std::string& name) {
        if (is_file(root.get(), site + "/" + name + "/RECORD")) return;
        const unique_fd folder = file_root::open_beneath(root.get(), site, O_PATH | O_DIRECTORY);
        if (folder) ::renameat(folder.get(), name.c_str(), AT_FDCWD, (trash / random_id()).c_str());
    });
}

}  // namespace cmcp
