#include "envd/filesystem.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

namespace cmcp::envd {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_events = 10'000;  // that nobody has asked for yet
constexpr std::size_t most_watches = 256;

struct ::stat look_at(const std::string& path)
{
    struct ::stat about;
    if (::lstat(path.c_str(), &about) != 0) throw refusal_of(errno, path);
    return about;
}

// As Go's os.FileMode says it.
std::string permissions_of(mode_t mode)
{
    std::string all(1, S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'L' : S_ISFIFO(mode) ? 'p' : S_ISSOCK(mode) ? 'S' : '-');
    for (int bit = 8; bit >= 0; --bit) all += (mode >> bit & 1) != 0 ? "xwr"[bit % 3] : '-';
    return all;
}

std::string time_text(const timespec& at)
{
    tm parts{};
    ::gmtime_r(&at.tv_sec, &parts);
    char day[40], whole[64];
    std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(whole, sizeof whole, "%s.%09ldZ", day, at.tv_nsec);
    return whole;
}

const char* type_of(mode_t mode)
{
    if (S_ISDIR(mode)) return "FILE_TYPE_DIRECTORY";
    if (S_ISREG(mode)) return "FILE_TYPE_FILE";
    return S_ISLNK(mode) ? "FILE_TYPE_SYMLINK" : "FILE_TYPE_UNSPECIFIED";
}

std::string target_of(const std::string& path)
{
    std::error_code failed;
    const auto real = fs::canonical(path, failed);
    return failed ? fs::read_symlink(path, failed).string() : real.string();
}

// Names are bytes, and JSON is UTF-8.
std::string utf8(const std::string& name)
{
    boost::system::error_code invalid;
    json::parse("\"" + name + "\"", invalid);
    if (!invalid || std::ranges::any_of(name, [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); }))
        return name;
    std::string out;
    for (const char c : name) c < 0 ? out.append("\xef\xbf\xbd") : out.append(1, c);
    return out;
}

void collect(json::array& into, const std::string& folder, std::int64_t depth)
{
    DIR* const opened = ::opendir(folder.c_str());
    if (opened == nullptr) throw refusal_of(errno, folder);
    std::vector<std::string> names;
    while (const dirent* each = ::readdir(opened))
        if (std::strcmp(each->d_name, ".") != 0 && std::strcmp(each->d_name, "..") != 0)
            names.emplace_back(each->d_name);
    ::closedir(opened);
    std::ranges::sort(names);
    for (const auto& name : names) {
        const std::string path = (folder == "/" ? "" : folder) + "/" + name;
        struct ::stat about;
        if (::lstat(path.c_str(), &about) != 0) continue;  // it has gone meanwhile
        try {
            into.push_back(entry_at(path));
            if (depth > 1 && S_ISDIR(about.st_mode)) collect(into, path, depth - 1);
        } catch (const refusal& hidden) {
            if (hidden.code != "not_found" && hidden.code != "permission_denied") throw;
        }
    }
}

}  // namespace

json::object metadata_of(const std::string& path)
{
    json::object all;
    std::array<char, 64 * 1024> names{};
    const auto size = ::llistxattr(path.c_str(), names.data(), names.size());
    std::string_view rest(names.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    while (!rest.empty()) {
        const std::string name(rest.substr(0, rest.find('\0')));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        if (!name.starts_with(metadata_prefix)) continue;
        std::array<char, 4096> value{};
        const auto length = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
        if (length >= 0)
            all[utf8(name.substr(metadata_prefix.size()))] = utf8({value.data(), static_cast<std::size_t>(length)});
    }
    return all;
}

json::object entry_at(const std::string& path)
{
    const auto about = look_at(path);
    json::object entry;
    auto mode = about.st_mode;
    if (S_ISLNK(mode)) {
        entry["symlinkTarget"] = utf8(target_of(path));
        struct ::stat behind;
        if (::stat(path.c_str(), &behind) == 0) mode = behind.st_mode;
    }
    entry["name"] = path == "/" ? path : utf8(path.substr(path.rfind('/') + 1));
    entry["type"] = type_of(mode);
    entry["path"] = utf8(path);
    entry["size"] = std::to_string(about.st_size);
    entry["mode"] = about.st_mode & 07777;
    entry["permissions"] = permissions_of(about.st_mode);
    entry["owner"] = name_of_user(about.st_uid);
    entry["group"] = name_of_group(about.st_gid);
    entry["modifiedTime"] = time_text(about.st_mtim);
    if (auto metadata = metadata_of(path); !metadata.empty()) entry["metadata"] = std::move(metadata);
    return entry;
}

void make_folders(const std::string& path, const account& by)
{
    std::vector<fs::path> missing;
    std::error_code failed;
    for (fs::path at = path; at.has_relative_path() && !fs::exists(at, failed) && !failed; at = at.parent_path())
        missing.push_back(at);
    if (failed) throw refusal_of(failed.value(), path);
    for (; !missing.empty(); missing.pop_back()) {
        const auto& folder = missing.back();
        if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) throw refusal_of(errno, path);
        if (by.changes && ::lchown(folder.c_str(), by.uid, by.gid) != 0) throw refusal_of(errno, path);
    }
    if (!fs::is_directory(path, failed)) throw refusal_of(ENOTDIR, path);
}

void make_parents(const std::string& path, const account& by)
{
    make_folders(fs::path(path).parent_path().string(), by);
}

json::object stat_entry(const json::object& wish, const account& by)
{
    return {{"entry", entry_at(resolved(text(wish, "path"), by))}};
}

json::object make_folder(const json::object& wish, const account& by)
{
    const auto path = resolved(text(wish, "path"), by);
    struct ::stat about;
    if (::stat(path.c_str(), &about) == 0) {
        if (S_ISDIR(about.st_mode)) throw refusal("already_exists", "directory already exists: " + path);
        throw refusal("invalid_argument", "path already exists but it is not a directory: " + path);
    }
    make_folders(path, by);
    return {{"entry", entry_at(path)}};
}

json::object move_entry(const json::object& wish, const account& by)
{
    const auto from = resolved(text(wish, "source"), by), to = resolved(text(wish, "destination"), by);
    look_at(from);
    make_parents(to, by);
    if (::rename(from.c_str(), to.c_str()) != 0) throw refusal_of(errno, from);
    return {{"entry", entry_at(to)}};
}

json::object list_folder(const json::object& wish, const account& by)
{
    const auto path = resolved(text(wish, "path"), by);
    struct ::stat about;
    if (::stat(path.c_str(), &about) != 0) throw refusal_of(errno, path);
    if (!S_ISDIR(about.st_mode)) throw refusal("invalid_argument", "path is not a directory: " + path);
    json::array entries;
    collect(entries, path, std::max<std::int64_t>(1, number(wish, "depth", 1)));
    return {{"entries", std::move(entries)}};
}

json::object remove_entry(const json::object& wish, const account& by)
{
    const auto path = resolved(text(wish, "path"), by);
    std::error_code failed;
    fs::remove_all(path, failed);
    if (failed) throw refusal_of(failed.value(), path);
    return {};
}

struct watches::watch {
    explicit watch(asio::any_io_executor executor) : notes(executor) {}

    void add(const std::string& folder)
    {
        constexpr std::uint32_t kinds =
            IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR;
        const int number = ::inotify_add_watch(notes.native_handle(), folder.c_str(), kinds);
        if (number < 0) throw refusal_of(errno, folder);
        folders[number] = folder;
        if (!recursive) return;
        std::error_code failed;
        for (const auto& each : fs::directory_iterator(folder, failed))
            if (each.is_directory(failed) && !each.is_symlink(failed)) add(each.path().string());
    }

    void note(const inotify_event& from)
    {
        const auto folder = folders.find(from.wd);
        if ((from.mask & IN_IGNORED) != 0) folders.erase(from.wd);
        if (folder == folders.end() || from.len == 0) return;
        const std::string path = folder->second + "/" + from.name;
        const std::string name = path.substr(root.size() + 1);
        const bool is_new = (from.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
        if (is_new && recursive && (from.mask & IN_ISDIR) != 0) try {
                add(path);
            } catch (const refusal&) {  // it has gone already
            }
        const auto tell = [&](std::uint32_t bits, const char* type) {
            if ((from.mask & bits) == 0) return;
            json::object event{{"name", utf8(name)}, {"type", type}};
            if (with_entry) try {
                    event["entry"] = entry_at(path);
                } catch (const refusal&) {
                }
            put(std::move(event));
        };
        tell(IN_CREATE | IN_MOVED_TO, "EVENT_TYPE_CREATE");
        tell(IN_MODIFY, "EVENT_TYPE_WRITE");
        tell(IN_DELETE, "EVENT_TYPE_REMOVE");
        tell(IN_MOVED_FROM, "EVENT_TYPE_RENAME");
        tell(IN_ATTRIB, "EVENT_TYPE_CHMOD");
    }

    void put(json::object event)
    {
        if (!to) {
            waiting.push_back(std::move(event));
            if (waiting.size() > most_events) waiting.erase(waiting.begin());
            return;
        }
        if (to->messages.size() >= most_events) return;
        json::object message;
        message["filesystem"] = std::move(event);
        to->messages.push_back(std::make_shared<const std::string>(json::serialize(message)));
        to->bytes += to->messages.back()->size();
        to->changed.raise();
    }

    std::string root;
    bool recursive = false, with_entry = false;
    asio::posix::stream_descriptor notes;
    std::map<int, std::string> folders;
    json::array waiting;
    std::shared_ptr<subscription> to;  // null: events are asked for
};

awaitable<> watches::follow(std::shared_ptr<watch> one)
{
    alignas(inotify_event) std::array<char, 64 * 1024> bytes{};
    for (;;) {
        auto [failed, size] =
            co_await one->notes.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
        if (failed) co_return;
        for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
            const auto& event = *reinterpret_cast<const inotify_event*>(bytes.data() + at);
            one->note(event);
            at += sizeof event + event.len;
        }
    }
}

std::shared_ptr<watches::watch> watches::begin(const json::object& wish, const account& by,
                                               std::shared_ptr<subscription> to)
{
    auto one = std::make_shared<watch>(executor_);
    one->root = resolved(text(wish, "path"), by);
    one->recursive = flag(wish, "recursive");
    one->with_entry = flag(wish, "includeEntry");
    one->to = std::move(to);
    struct ::stat about;
    if (::stat(one->root.c_str(), &about) != 0) throw refusal_of(errno, one->root);
    if (!S_ISDIR(about.st_mode)) throw refusal("invalid_argument", "path " + one->root + " is not a directory");
    const int queue = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (queue < 0) throw refusal("resource_exhausted", std::string("inotify: ") + std::strerror(errno));
    one->notes.assign(queue);
    one->add(one->root);
    asio::co_spawn(executor_, follow(one), asio::detached);
    return one;
}

awaitable<> watches::stream(connection& by, const json::object& wish)
{
    auto to = std::make_shared<subscription>(executor_);
    const auto user = by.user();
    const auto one = begin(wish, user, to);
    struct end {
        watch& of;
        ~end()
        {
            boost::system::error_code ignored;
            of.notes.close(ignored);
        }
    } const at_the_end{*one};
    json::value first{{"start", json::object()}};
    json::value keepalive{{"keepalive", json::object()}};
    co_await send_stream(by, std::move(to), std::move(first), std::move(keepalive));
}

json::object watches::create(const json::object& wish, const account& by)
{
    if (named_.size() >= most_watches) throw refusal("resource_exhausted", "there are 256 watchers; remove one first");
    auto one = begin(wish, by, {});
    const std::string id = "w" + std::to_string(next_++);
    named_[id] = std::move(one);
    return {{"watcherId", id}};
}

json::object watches::events(const json::object& wish)
{
    const auto known = named_.find(text(wish, "watcherId"));
    if (known == named_.end()) throw refusal("not_found", "watcher " + text(wish, "watcherId") + " not found");
    return {{"events", std::exchange(known->second->waiting, json::array())}};
}

json::object watches::remove(const json::object& wish)
{
    const auto known = named_.find(text(wish, "watcherId"));
    if (known == named_.end()) throw refusal("not_found", "watcher " + text(wish, "watcherId") + " not found");
    boost::system::error_code ignored;
    known->second->notes.close(ignored);
    named_.erase(known);
    return {};
}

}  // namespace cmcp::envd
