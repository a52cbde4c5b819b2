#include "runs/error_output.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>

namespace cmcp {
namespace {

constexpr std::size_t most_paths = 8;
constexpr std::size_t longest_path = 256;
constexpr std::size_t longest_line_read = 2048;  // in which a path is looked for
constexpr std::size_t each_end = 32 * 1024;      // of the output that is looked at
constexpr std::string_view read_only = "Read-only file system";
constexpr std::array<std::string_view, 2> not_permitted{"Permission denied", "Operation not permitted"};
constexpr std::array<std::string_view, 2> quotes{"'", "\xe2\x80\x99"};  // the C locale's and that of UTF-8

// A program may print very much, and says what went wrong where it begins or where it ends.
std::string both_ends(std::string_view output)
{
    if (output.size() <= 2 * each_end) return std::string(output);
    std::string ends(output.substr(0, each_end));
    return ends.append("\n").append(output.substr(output.size() - each_end));
}

bool below(std::string_view path, std::string_view folder)
{
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool may_be_written(std::string_view path, std::string_view workspace)
{
    return below(path, workspace) || below(path, "/tmp") || below(path, "/var/tmp") || below(path, "/dev/shm");
}

// Where a path that begins at `at` ends: at its quote, or where the message goes on.
std::size_t end_of_path(std::string_view line, std::size_t at)
{
    std::size_t end = std::min(line.find(": ", at), line.size());
    for (const auto quote : quotes) end = std::min(end, line.find(quote, at));
    return end;
}

// The last path that begins where a word or a quotation does: the programs' own names come first.
std::string_view path_in(std::string_view line)
{
    std::string_view name;
    for (std::size_t at = line.find('/'); at != std::string_view::npos; at = line.find('/', at)) {
        const std::string_view before = line.substr(0, at);
        const bool quoted = before.ends_with('\'') || before.ends_with("\xe2\x80\x98");
        const std::size_t end = end_of_path(line, at);
        if (before.empty() || before.ends_with(' ') || quoted) name = line.substr(at, end - at);
        at = end;
    }
    return name;
}

std::string sentence(std::string_view line, std::string_view workspace)
{
    const bool writing = line.find(read_only) != std::string_view::npos;
    const auto says = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
    if (!writing && std::none_of(not_permitted.begin(), not_permitted.end(), says)) return {};
    const std::string_view path = path_in(line);
    if (path.empty() || path.size() > longest_path || may_be_written(path, workspace)) return {};
    if (!writing) return "access to " + std::string(path) + ": not permitted in the sandbox";
    return "writing " + std::string(path) + ": read-only in the sandbox, where " + std::string(workspace) +
           ", /tmp and /dev/shm can be written";
}

struct module_packages {
    std::string_view module;
    std::string_view debian;
    std::string_view pip;
};

// Modules that are in wide use; others are called as their package is, as a rule.
constexpr module_packages known_modules[] = {
    {"numpy", "python3-numpy", "numpy"},
    {"pandas", "python3-pandas", "pandas"},
    {"scipy", "python3-scipy", "scipy"},
    {"matplotlib", "python3-matplotlib", "matplotlib"},
    {"sklearn", "python3-sklearn", "scikit-learn"},
    {"seaborn", "python3-seaborn", "seaborn"},
    {"requests", "python3-requests", "requests"},
    {"yaml", "python3-yaml", "pyyaml"},
    {"PIL", "python3-pil", "pillow"},
    {"cv2", "python3-opencv", "opencv-python-headless"},
    {"bs4", "python3-bs4", "beautifulsoup4"},
    {"lxml", "python3-lxml", "lxml"},
    {"sympy", "python3-sympy", "sympy"},
    {"networkx", "python3-networkx", "networkx"},
    {"openpyxl", "python3-openpyxl", "openpyxl"},
    {"pip", "python3-pip", "pip"},
};

std::string missing_module_of(std::string_view errors)
{
    errors = trimmed(errors, " \t\r\n");
    const std::string_view line = errors.substr(errors.rfind('\n') + 1);
    constexpr std::string_view begin = "ModuleNotFoundError: No module named '";
    if (!line.starts_with(begin)) return {};
    const std::string_view name = line.substr(begin.size());
    return std::string(name.substr(0, name.find_first_of(".'")));
}

using signs = std::array<std::string_view, 2>;  // all of them

constexpr signs signs_of_threads[] = {{"can't start new thread", ""},
                                      {"unable to create native thread", ""},
                                      {"unable to create new native thread", ""},
                                      {"pthread_create failed", ""},
                                      {"failed to spawn thread", ""},
                                      {"failed to create new OS thread", ""},
                                      {"failed to create thread", ""},
                                      {"thread constructor failed", ""},
                                      {"ERR_WORKER_INIT_FAILED", ""},
                                      {"std::system_error", "Resource temporarily unavailable"},
                                      {"fork: ", "Resource temporarily unavailable"},
                                      {"fork", "[Errno 11] Resource temporarily unavailable"},
                                      {"Cannot fork", ""},
                                      {"cannot fork", ""},
                                      {"can't fork", ""},
                                      {"spawn ", " EAGAIN"}};
constexpr signs signs_of_open_files[] = {{"Too many open files", ""}, {"too many open files", ""}, {"EMFILE", ""}};
constexpr signs signs_of_watches[] = {{"System limit for number of file watchers reached", ""},
                                      {"inotify", "No space left on device"},
                                      {"inotify", "Too many open files"}};
constexpr signs signs_of_memory[] = {{"MemoryError", ""},
                                     {"Cannot allocate memory", ""},
                                     {"cannot allocate memory", ""},
                                     {"ENOMEM", ""},
                                     {"std::bad_alloc", ""},
                                     {"heap out of memory", ""},
                                     {"Array buffer allocation failed", ""},
                                     {"java.lang.OutOfMemoryError", ""},
                                     {"insufficient memory for the Java Runtime", ""},
                                     {"memory exhausted", ""},
                                     {"cannot allocate vector of size", ""},
                                     {"runtime: out of memory", ""},
                                     {"memory allocation of ", " failed"},
                                     {"Out of memory", ""},
                                     {"out of memory", ""},
                                     {"failed to allocate memory", ""}};
constexpr signs signs_of_file_size[] = {
    {"File size limit exceeded", ""}, {"File too large", ""}, {"file too large", ""}, {"EFBIG", ""}};
constexpr signs signs_of_full_disk[] = {
    {"No space left on device", ""}, {"no space left on device", ""}, {"ENOSPC", ""},
    {"Disk quota exceeded", ""},     {"disk quota exceeded", ""},     {"EDQUOT", ""},
    {"database or disk is full", ""}};
constexpr signs signs_of_processor_time[] = {{"CPU time limit exceeded", ""}, {"Cputime limit exceeded", ""}};

constexpr signs signs_of_pip[] = {{"Retrying (Retry(total=", "Failed to establish a new connection"},
                                  {"(from versions: none)", "No matching distribution found for"},
                                  {"error: externally-managed-environment", ""}};
constexpr signs signs_of_npm[] = {{"npm ERR! code EAI_AGAIN", ""},
                                  {"npm error code EAI_AGAIN", ""},
                                  {"npm ERR! code ECONNREFUSED", ""},
                                  {"npm error code ECONNREFUSED", ""}};
constexpr signs signs_of_no_network[] = {{"Temporary failure in name resolution", ""},
                                         {"Could not resolve host", ""},
                                         {"getaddrinfo EAI_AGAIN", ""},
                                         {"Network is unreachable", ""}};
constexpr signs signs_of_socket_elsewhere[] = {
    {"Permission denied", "AF_UNIX"}, {"Permission denied", "unix_server"}, {"ermission denied", ".sock"}};
constexpr signs signs_of_terminal[] = {{"Vim: Warning: Output is not to a terminal", ""},
                                       {"Vim: Warning: Input is not from a terminal", ""},
                                       {"top: failed tty get", ""},
                                       {"TERM environment variable not set.", ""},
                                       {"Error opening terminal: ", ""},
                                       {"Too many errors from stdin", "nano"}};

constexpr signs signs_of_packages_of_system[] = {
    {"E: Could not open lock file", ""}, {"E: Unable to acquire the dpkg", ""}, {"requires superuser privilege", ""}};
constexpr signs signs_of_root[] = {
    {"sudo: ", ""}, {"su: Authentication failure", ""}, {"su: must be run from a terminal", ""}};
constexpr signs signs_of_services[] = {
    {"System has not been booted with systemd", ""}, {"Failed to connect to bus", ""}, {"unrecognized service", ""}};
constexpr signs signs_of_containers[] = {
    {"Cannot connect to the Docker daemon", ""}, {"newuidmap", ""}, {"cannot clone: Operation not permitted", ""}};
constexpr signs signs_of_screen[] = {
    {"xdg-open: no method available", ""}, {"cannot open display", ""}, {"no DISPLAY environment variable", ""}};
constexpr signs signs_of_list[] = {{": not an allowed command", ""}};
constexpr signs signs_of_ping[] = {{"ping: socket", ""}, {"ping: socktype", ""}, {"Lacking privilege for", ""}};

// The run, beside its output.
struct run_facts {
    const hint_subject& of;
    const std::vector<std::string>& denied;

    bool denies(std::string_view part) const
    {
        const auto says = [part](const std::string& each) { return each.find(part) != std::string::npos; };
        return std::any_of(denied.begin(), denied.end(), says);
    }
};

bool any_run(const run_facts&) { return true; }
bool failed_run(const run_facts& run) { return run.of.failed; }
// A host that was refused says what to do.
bool failed_in_sandbox(const run_facts& run)
{
    return run.of.failed && run.of.in_sandbox && !run.denies(" is refused: ");
}
bool wanted_network(const run_facts& run) { return failed_in_sandbox(run) && run.denies("the sandbox has no network"); }
// A kernel and a shared shell live on, and what was refused is known at their end.
bool failed_unrefused(const run_facts& run) { return failed_in_sandbox(run) && run.denied.empty(); }

struct hint_row {
    bool (*fits)(const run_facts&);
    std::string_view commands;   // between spaces: one of them is not there
    std::span<const signs> any;  // or one of these is shown; where a row has neither, the facts are enough
    std::string_view sentence;   // what to do
};

// The first that fits counts: some programs say of a lack of threads that memory is short.
constexpr hint_row hint_rows[] = {
    {any_run,
     {},
     signs_of_threads,
     "{processes} processes and threads may live in the sandbox at once (SANDBOX_PROCESS_LIMIT), and the stacks of "
     "threads count as memory ({memory} MiB, {memory_setting}). Start fewer: a smaller pool, or one after the other."},
    {any_run,
     {},
     signs_of_watches,
     "The programs of a sandbox may watch 8192 files and folders, by 16 watchers (inotify): watch fewer, or let the "
     "program poll."},
    {any_run,
     {},
     signs_of_open_files,
     "A process may have {open_files} files, sockets and pipes open at once (SANDBOX_OPEN_FILES). Close those that are "
     "not needed any more."},
    {any_run,
     {},
     signs_of_memory,
     "A process may use {memory} MiB of memory ({memory_setting}). Work on less data at a time."},
    {any_run,
     {},
     signs_of_file_size,
     "A file may grow to {file_size} MiB (SANDBOX_FILE_SIZE_LIMIT), but not beyond what is left of the {disk_size} MiB "
     "of the working folder ({disk_setting}). Write smaller files, or delete what is not needed any more."},
    {any_run,
     {},
     signs_of_full_disk,
     "/tmp and /dev/shm hold {tmp} MiB each (SANDBOX_TMP_SIZE), and the working folder {disk_size} MiB "
     "({disk_setting}). Delete what is not needed any more."},
    {any_run,
     {},
     signs_of_processor_time,
     "A process may use {cpu} of processor time. Do less in one run, or split the work."},
    {failed_in_sandbox,
     {},
     signs_of_pip,
     "Commands in a sandbox have no network: install_packages_in_sandbox brings Python packages."},
    {failed_in_sandbox,
     {},
     signs_of_npm,
     "Commands in a sandbox have no network: install_packages_in_sandbox with manager npm brings packages of npm."},
    {failed_in_sandbox,
     {},
     signs_of_terminal,
     "This program wants a terminal, which shell_open gives: type with shell_send, read with shell_read."},
    {wanted_network, {}, {}, "The sandbox has no network. install_packages_in_sandbox brings packages of pip and npm."},
    {failed_unrefused,
     {},
     signs_of_socket_elsewhere,
     "UNIX sockets work below /tmp and /dev/shm, and by abstract names, between the programs of the sandbox: bind the "
     "socket there."},
    {failed_unrefused,
     {},
     signs_of_no_network,
     "The program did not reach a host: a sandbox has no network but for the hosts that create_sandbox was given. "
     "install_packages_in_sandbox brings packages of pip and npm, web_scrape reads pages."},
    {failed_run,
     " python python2 python3 ipython ",
     {},
     "execute_python_code runs Python; for execute_terminal_command it is python3, where the sandbox has it."},
    {failed_run,
     " pip pip2 pip3 pipx conda mamba poetry uv easy_install ",
     {},
     "install_packages_in_sandbox brings Python packages into a sandbox."},
    {failed_run,
     " node nodejs npm npx yarn pnpm bun deno ",
     {},
     "Nothing of that is installed here: the server's operator can install it (as Debian's packages nodejs and npm), "
     "or "
     "create_sandbox takes an image that has it."},
    {failed_run, " apt apt-get aptitude apt-cache dpkg yum dnf apk pacman zypper brew snap ",
     signs_of_packages_of_system,
     "System packages cannot be installed in a sandbox: install_packages_in_sandbox brings packages of pip and npm, "
     "create_sandbox takes an image with further programs, and the server's operator can install what all shall have."},
    {failed_run, " sudo su doas pkexec runuser ", signs_of_root,
     "Leave it out: there is no root in a sandbox, and what can be changed can be changed without it."},
    {failed_run, " systemctl service journalctl initctl rc-service launchctl supervisorctl ", signs_of_services,
     "No service manager runs in a sandbox: start the program itself, with run_in_background or as nohup PROGRAM > log "
     "2>&1 &."},
    {failed_run, " docker docker-compose podman buildah nerdctl kubectl minikube ", signs_of_containers,
     "Containers cannot be started in a sandbox: run the program itself, or give create_sandbox an image."},
    {failed_run, " open xdg-open start explorer sensible-browser gnome-open firefox google-chrome ", signs_of_screen,
     "A sandbox has no screen: files come with the result of the run that writes them, view_file shows one, and "
     "web_browse reads pages."},
    {failed_run,
     " code subl gedit notepad nano vim vi emacs pico micro ",
     {},
     "file_edit and file_write change files; editors for terminals, where they are installed, run in shell_open."},
    {failed_run,
     " pbcopy pbpaste xclip xsel clip ",
     {},
     "A sandbox has no clipboard: write the text to a file, or print it."},
    {failed_run, " ping ping6 traceroute dig nslookup host whois nmap telnet ", signs_of_ping,
     "A sandbox's network, where it has one, carries TCP to allowed hosts alone: curl or Python shows whether one is "
     "reached."},
    {failed_run,
     " ifconfig ip netstat ss lsof route arp ",
     {},
     "The sandbox has a loopback of its own alone; /proc/net/tcp lists its ports, and list_sandboxes those on which "
     "programs listen."},
    {failed_run,
     " ssh scp sftp rsync mosh ",
     {},
     "Files come into a sandbox with upload_file_to_sandbox or file_write, and out of it by the links of results."},
    {failed_run,
     " wget curl http aria2c ",
     {},
     "web_scrape reads pages; in a sandbox that has a network, Python's urllib.request fetches files."},
    {failed_run,
     " crontab at batch ",
     {},
     "Nothing is started at a later time in a sandbox: run_in_background begins a job now."},
    {failed_run, " tmux screen byobu ", {}, "shell_open gives a terminal that stays; run_in_background begins a job."},
    {failed_run, {}, signs_of_list, "execute_terminal_command runs every program of a sandbox."}};

// How shells, env(1) and its like, Node and Python tell that there is no such command: the name is in front, or behind.
constexpr std::string_view signs_behind_command[] = {": command not found",
                                                     ": not found",
                                                     ": not an allowed command",
                                                     "': No such file or directory",
                                                     "\xe2\x80\x99: No such file or directory",
                                                     " ENOENT"};
constexpr std::string_view sign_before_command = "No such file or directory: '";

bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '+' || c == '-';
}

// The name that ends before `end`, in quotes or not.
std::string_view name_before(std::string_view text, std::size_t end)
{
    text = text.substr(0, end);
    for (const auto quote : quotes)
        if (text.ends_with(quote)) text.remove_suffix(quote.size());
    std::size_t begin = text.size();
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    return begin > 0 && text[begin - 1] == '/' ? std::string_view() : text.substr(begin);
}

std::string_view name_after(std::string_view text, std::size_t begin)
{
    std::size_t end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    return end < text.size() && text[end] == '/' ? std::string_view() : text.substr(begin, end - begin);
}

// All signs by their first byte, so that a text is looked through once.
class sign_index {
public:
    sign_index()
    {
        for (const auto& row : hint_rows)
            for (const auto& all : row.any)
                for (const auto sign : all) add(sign);
        for (const auto sign : signs_behind_command) add(sign);
        add(sign_before_command);
    }

    const std::vector<std::string_view>& with(char first) const { return by_first_[static_cast<unsigned char>(first)]; }

    static const sign_index& all()
    {
        static const sign_index index;
        return index;
    }

private:
    void add(std::string_view sign)
    {
        if (sign.empty()) return;
        auto& same = by_first_[static_cast<unsigned char>(sign.front())];
        if (std::find(same.begin(), same.end(), sign) == same.end()) same.push_back(sign);
    }

    std::array<std::vector<std::string_view>, 256> by_first_;
};

/// The signs that a text shows, and the commands that it says are not there.
class seen_signs {
public:
    explicit seen_signs(std::string_view text)
    {
        for (std::size_t at = 0; at < text.size(); ++at)
            for (const auto sign : sign_index::all().with(text[at]))
                if (text.substr(at).starts_with(sign)) see(text, at, sign);
    }

    bool shows(std::span<const signs> any) const
    {
        const auto has = [this](std::string_view sign) { return sign.empty() || seen_.contains(sign); };
        return std::any_of(any.begin(), any.end(), [&](const signs& all) { return has(all[0]) && has(all[1]); });
    }

    bool misses_one_of(std::string_view commands) const
    {
        return std::any_of(missing_.begin(), missing_.end(), [commands](const std::string& word) {
            return commands.find(word) != std::string_view::npos;
        });
    }

private:
    void see(std::string_view text, std::size_t at, std::string_view sign)
    {
        seen_.insert(sign);
        if (sign == sign_before_command)
            miss(name_after(text, at + sign.size()));
        else if (std::ranges::find(signs_behind_command, sign) != std::end(signs_behind_command))
            miss(name_before(text, at));
    }

    void miss(std::string_view name)
    {
        constexpr std::size_t longest_name = 40, most_names = 64;
        if (!name.empty() && name.size() <= longest_name && missing_.size() < most_names)
            missing_.insert(' ' + std::string(name) + ' ');
    }

    std::set<std::string_view> seen_;
    std::set<std::string> missing_;  // between spaces
};

void fill_in(std::string& sentence, std::string_view mark, const std::string& value)
{
    for (auto at = sentence.find(mark); at != std::string::npos; at = sentence.find(mark, at + value.size()))
        sentence.replace(at, mark.size(), value);
}

std::string whole_mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20); }

std::string with_figures(std::string sentence, const hint_subject& of)
{
    const sandbox::run_limits& limits = of.limits;
    fill_in(sentence, "{processes}", std::to_string(limits.processes));
    fill_in(sentence, "{open_files}", std::to_string(limits.open_files));
    fill_in(sentence, "{memory}", whole_mebibytes(limits.process_memory != 0 ? limits.process_memory : limits.memory));
    fill_in(sentence, "{memory_setting}", std::string(of.memory_setting));
    fill_in(sentence, "{file_size}", whole_mebibytes(limits.file_size));
    fill_in(sentence, "{tmp}", whole_mebibytes(limits.tmp_size));
    fill_in(sentence, "{disk_size}", whole_mebibytes(limits.workspace_size));
    fill_in(sentence, "{disk_setting}", of.in_sandbox ? "SANDBOX_DISK_QUOTA" : "SANDBOX_WORKSPACE_MAX_MB");
    fill_in(sentence, "{cpu}",
            limits.cpu.count() > 0 ? std::to_string(limits.cpu.count()) + " s" : "twice the run's timeout");
    return sentence;
}

std::string in_a_sandbox(std::string_view package)
{
    return "create_sandbox, then install_packages_in_sandbox with " + std::string(package) +
           ", then execute_python_code";
}

}  // namespace

std::vector<std::string> denied_paths(std::string_view error_output, std::string_view workspace)
{
    std::vector<std::string> paths;
    const std::string ends = both_ends(error_output);
    std::string_view rest = ends;
    while (!rest.empty() && paths.size() < most_paths) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string said = sentence(rest.substr(0, std::min(end, longest_line_read)), workspace);
        if (!said.empty() && std::find(paths.begin(), paths.end(), said) == paths.end())
            paths.push_back(std::move(said));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return paths;
}

std::string hint_on(std::string_view errors, const std::vector<std::string>& denied, const hint_subject& of)
{
    if (errors.empty() && denied.empty()) return {};
    const std::string ends = both_ends(errors);
    if (of.failed && of.in_sandbox)
        if (auto hint = missing_module_hint(ends, module_source::sandbox); !hint.empty()) return hint;
    const run_facts run{of, denied};
    const seen_signs seen(ends);
    for (const auto& row : hint_rows) {
        const bool by_facts_alone = row.commands.empty() && row.any.empty();
        if (row.fits(run) && (by_facts_alone || seen.shows(row.any) || seen.misses_one_of(row.commands)))
            return with_figures(std::string(row.sentence), of);
    }
    return {};
}

std::string missing_module_hint(std::string_view errors, module_source from)
{
    const std::string module = missing_module_of(errors.substr(errors.size() - std::min(errors.size(), each_end)));
    if (module.empty()) return {};
    const auto* row = std::find_if(std::begin(known_modules), std::end(known_modules),
                                   [&](const auto& each) { return each.module == module; });
    const bool known = row != std::end(known_modules);
    const std::string package = known ? std::string(row->pip) : module;
    const std::string begin = "There is no module " + module + " here: ";
    if (from == module_source::sandbox)
        return begin + "install_packages_in_sandbox with " + package + " brings it, if it is a package.";
    std::string server = known ? "install the package " + std::string(row->debian) + " on the server" : "";
    if (from == module_source::server) return begin + (known ? server : "the server's operator can install it") + ".";
    return begin + (known ? server + ", or take a sandbox: " : "if it is a package, take a sandbox: ") +
           in_a_sandbox(package) + ".";
}

}  // namespace cmcp
