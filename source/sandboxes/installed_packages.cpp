#include "sandboxes/installed_packages.hpp"

#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "jsonrpc/json.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t most_entries = 10'000;  // of one folder
constexpr std::size_t longest_description = 256 << 10;
constexpr const char* user_libraries = ".local/lib";

unique_fd open_folder(const std::filesystem::path& path)
{
    return unique_fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

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
    std::string text;
    if (!is_file(root, path)) return text;
    const unique_fd file = file_root::open_beneath(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file) return text;
    text.resize(longest_description);
    std::size_t size = 0;
    for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
        got = ::read(file.get(), text.data() + size, text.size() - size);
    text.resize(size);
    return text;
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

std::string as_listed(std::string name)
{
    for (char& letter : name) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
        if (letter == '_') letter = '-';
    }
    return name;
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
    json::error_code failure;
    const auto described = json::parse(read_file(root, "node_modules/" + name + "/package.json"), failure);
    if (failure || !described.is_object()) return;
    const auto* version = described.get_object().if_contains("version");
    if (version != nullptr && version->is_string()) versions["npm:" + name] = std::string(version->get_string());
}

}  // namespace

std::map<std::string, std::string> installed_packages(const std::filesystem::path& workspace)
{
    std::map<std::string, std::string> versions;
    const unique_fd root = open_folder(workspace);
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

void remove_half_installed(const std::filesystem::path& workspace, const std::filesystem::path& trash)
{
    const unique_fd root = open_folder(workspace);
    if (!root) return;
    each_distribution(root.get(), [&](const std::string& site, const std::string& name) {
        if (is_file(root.get(), site + "/" + name + "/RECORD")) return;
        const unique_fd folder = file_root::open_beneath(root.get(), site, O_PATH | O_DIRECTORY);
        if (folder) ::renameat(folder.get(), name.c_str(), AT_FDCWD, (trash / random_id()).c_str());
    });
}

}  // namespace cmcp
