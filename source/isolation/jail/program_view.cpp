#include "jail/program_view.hpp"

#include "jail/elf_needed.hpp"
#include "jail/python_data.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view search_folders[] = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"};

// Loaded by dlopen, so no file names them: thread cancellation and exit, and user names in older C libraries.
constexpr std::string_view loaded_by_name[] = {"libgcc_s.so.1", "libnss_files.so.2"};

// Data only; small programs misbehave without them.
constexpr std::string_view shown_to_all[] = {"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8", "/usr/share/zoneinfo",
                                             "/usr/share/terminfo", "/usr/lib/terminfo"};

// Where these are links into /usr, programs and the loader are often named by them.
constexpr std::string_view linked_folders[] = {"/bin", "/sbin", "/lib", "/lib64"};

// Files that some programs read of their own accord; "*" stands for the loader's folders.
constexpr std::pair<std::string_view, std::string_view> own_folders[] = {
    {"git", "/usr/share/git-core"},
    {"file", "/usr/share/misc"},
    {"file", "/usr/lib/file"},
    {"perl", "/usr/share/perl"},
    {"perl", "/usr/share/perl5"},
    {"perl", "*/perl"},
    {"perl", "*/perl5"},
    {"perl", "*/perl-base"},
    {"gawk", "*/gawk"},
    {"gawk", "/usr/share/awk"},
    {"node", "/usr/share/nodejs"},
    {"node", "/usr/share/node_modules"},
    {"jq", "/usr/share/jq"},
    {"ruby", "/usr/lib/ruby"},
    {"ruby", "*/ruby"},
    {"python", "/usr/share/fonts"},
    {"python", "/usr/local/share/fonts"},
};

// Other names under which a program starts itself, in folders of its own.
constexpr std::pair<std::string_view, std::string_view> own_names[] = {{"git", "/usr/lib/git-core/git"}};

bool is_executable(const fs::path& path)
{
    struct stat status {};
    // Of a program that others may not read and execute no view shows a copy.
    constexpr mode_t for_others = S_IROTH | S_IXOTH;
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & for_others) == for_others;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name)
{
    if (name.starts_with('/')) return is_executable(name) ? std::optional(name) : std::nullopt;
    if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
    for (std::string_view folder : search_folders)
        if (fs::path path = fs::path(folder) / name; is_executable(path)) return path.string();
    return std::nullopt;
}

namespace {

/// Collects the files that a program needs, each once.
class collector {
public:
    collector()
    {
        for (std::string_view folder : search_folders) marks_.add(std::string(folder));
        for (const std::string& folder : search_.folders()) marks_.add(folder);
    }

    void mark_folder_of(const std::string& name)
    {
        if (name.starts_with('/')) marks_.add(fs::path(name).parent_path().string());
    }

    void add_program(const std::string& path)
    {
        const std::string real = resolve(path);
        if (!programs_.insert(real).second) return;
        const std::string name = fs::path(real).filename().string();
        // A script's interpreter is a program of its own right: it is there only when it is listed too.
        add_needed(real);
        add_own_folders(name);
        add_own_names(name);
        if (name.starts_with("python3")) add_python(real, name);
    }

    void add_common()
    {
        for (std::string_view folder : shown_to_all) add_folder(std::string(folder));
        for (std::string_view folder : linked_folders)
            if (fs::is_symlink(folder)) resolve(std::string(folder));
        if (!machine_) return;
        for (std::string_view name : loaded_by_name)
            if (auto library = search_.find(std::string(name), *machine_, {})) add_library(*library);
        if (auto library = search_.find("libc.so.6", *machine_, {}))
            add_folder((fs::path(*library).parent_path() / "gconv").string());
    }

    view_files take(std::vector<std::string> unknown) &&
    {
        // A library that is also listed as a program, or the other way round, is one file.
        for (const std::string& program : programs_) libraries_.erase(program);
        // A file in a folder that is shown whole is there already.
        std::erase_if(libraries_, [&](const std::string& path) { return is_shown(path); });
        std::erase_if(links_, [&](const auto& link) { return is_shown(link.first); });
        const std::set<std::string> all = directories_;
        std::erase_if(directories_, [&](const std::string& path) { return lies_in(path, all); });
        return {list(programs_),    list(libraries_), list(directories_), {links_.begin(), links_.end()},
                std::move(unknown), std::move(marks_)};
    }

private:
    static bool lies_in(const std::string& path, const std::set<std::string>& folders)
    {
        auto holds = [&](const std::string& folder) { return path.starts_with(folder + "/"); };
        return std::any_of(folders.begin(), folders.end(), holds);
    }

    bool is_shown(const std::string& path) const { return lies_in(path, directories_); }

    static std::vector<std::string> list(const std::set<std::string>& from) { return {from.begin(), from.end()}; }

    // Links of folders (/lib64, /bin) exist inside as well; a link that is the last part of the path is made anew.
    std::string resolve(const std::string& path)
    {
        const fs::path start(path);
        const std::string named = (fs::canonical(start.parent_path()) / start.filename()).string();
        std::string real = fs::canonical(start).string();
        if (named != real) links_.emplace(named, real);
        return real;
    }

    void add_library(const std::string& path)
    {
        const std::string real = resolve(path);
        if (libraries_.insert(real).second) add_needed(real);
    }

    void add_needed(const std::string& real)
    {
        const auto elf = read_elf_needed(real);
        if (!elf) return;
        machine_ = elf->machine;
        if (!elf->interpreter.empty()) add_library(elf->interpreter);
        for (const std::string& name : elf->libraries) {
            auto library = search_.find(name, elf->machine, elf->search_path);
            if (!library) throw std::runtime_error(real + " needs " + name + ", which is not installed");
            add_library(*library);
        }
    }

    void add_folder(const std::string& path)
    {
        std::error_code ignored;
        if (!fs::is_directory(path, ignored)) return;
        const std::string real = resolve(path);
        directories_.insert(real);
    }

    void add_own_folders(const std::string& name)
    {
        // perl5.36 and python3.11 are the real names of perl and python3.
        const std::string plain = name.substr(0, name.find_first_of("0123456789.-"));
        for (const auto& [program, folder_pattern] : own_folders) {
            if (program != plain) continue;
            if (!folder_pattern.starts_with('*')) add_folder(std::string(folder_pattern));
            if (!folder_pattern.starts_with('*')) continue;
            for (const std::string& folder : search_.folders())
                add_folder(folder + std::string(folder_pattern.substr(1)));
        }
    }

    // Only links to the program itself: no helper comes in that is not listed.
    void add_own_names(const std::string& program)
    {
        for (const auto& [name, path] : own_names) {
            std::error_code absent;
            if (name != program || !fs::is_regular_file(path, absent)) continue;
            const std::string itself = resolve(std::string(path));
            if (programs_.insert(itself).second) add_needed(itself);
            for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path(), absent))
                if (entry.is_symlink(absent) && fs::canonical(entry.path(), absent) == itself)
                    resolve(entry.path().string());
        }
    }

    void add_python(const std::string& real, const std::string& version)
    {
        const fs::path prefix = fs::path(real).parent_path().parent_path();
        const std::set<std::string> before = directories_;
        for (const std::string& folder :
             {(prefix / "lib" / version).string(), (prefix / "lib/python3").string(), "/usr/local/lib/" + version}) {
            for (const char* packages : {"", "/dist-packages", "/site-packages"}) marks_.add(folder + packages);
            add_folder(folder);
        }
        std::vector<std::string> added;
        std::set_difference(directories_.begin(), directories_.end(), before.begin(), before.end(),
                            std::back_inserter(added));
        for (const std::string& folder : added) {
            add_modules(folder);
            for (const char* packages : {"/dist-packages", "/site-packages"})
                for (const std::string& data : python_data_folders(folder + packages)) add_folder(data);
        }
    }

    // Compiled modules that cannot be loaded here already cannot be loaded outside either.
    void add_modules(const std::string& folder)
    {
        const auto options = fs::directory_options::skip_permission_denied;
        std::error_code ended;
        for (fs::recursive_directory_iterator at(folder, options, ended), end; !ended && at != end;
             at.increment(ended)) {
            if (at->path().extension() != ".so" || !at->is_regular_file()) continue;
            try {
                add_needed(at->path().string());
            } catch (const std::runtime_error&) {
            }
        }
    }

    library_search search_;
    std::optional<std::uint16_t> machine_;
    std::set<std::string> programs_, libraries_, directories_;
    std::set<std::pair<std::string, std::string>> links_;
    file_marks marks_;
};

bool add(collector& to, const std::string& name)
{
    const auto path = find_program(name);
    if (!path) return false;
    collector attempt = to;
    try {
        attempt.add_program(*path);
    } catch (const std::runtime_error&) {
        return false;  // damaged, or a library is missing: it would not start
    }
    to = std::move(attempt);
    return true;
}

}  // namespace

view_files resolve_view(const program_view& view, const std::vector<std::string>& interpreters)
{
    if (view.all) return {};
    collector files;
    std::vector<std::string> unknown;
    for (const auto* names : {&view.names, &interpreters})
        for (const std::string& name : *names) {
            files.mark_folder_of(name);
            if (!add(files, name)) unknown.push_back(name);
        }
    files.add_common();
    return std::move(files).take(std::move(unknown));
}

}  // namespace cmcp::sandbox
