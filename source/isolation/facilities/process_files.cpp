#include "facilities/process_files.hpp"

#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace cmcp::sandbox {

std::string read_text(int directory, const std::string& path, std::size_t most)
{
    const unique_fd file(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (!file) return text;
    constexpr std::size_t piece = 2048;
    while (text.size() < most) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        const ssize_t length = ::read(file.get(), text.data() + before, piece);
        text.resize(before + (length > 0 ? static_cast<std::size_t>(length) : 0));
        if (length <= 0) break;
    }
    return text;
}

std::uint64_t number_in_line(std::string_view text, std::string_view name)
{
    const auto at = text.find(name);
    return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + name.size(), nullptr, 10);
}

std::uint64_t bytes_in_line(std::string_view text, std::string_view name) { return number_in_line(text, name) * 1024; }

std::string living_part(int directory, const std::string& process)
{
    constexpr std::string_view memory = "\nVmRSS:";
    const auto lives = [&](const std::string& part) {
        return read_text(directory, part + "/status").find(memory) != std::string::npos;
    };
    if (lives(process)) return process;
    for (const auto& name : threads_of(directory, process))
        if (std::string part = process + "/task/" + name; lives(part)) return part;
    return process;
}

std::vector<std::string> threads_of(int directory, const std::string& process)
{
    const std::string path = process + "/task";
    const unique_fd tasks(::openat(directory, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return tasks ? numbered_entries(tasks.get(), '1') : std::vector<std::string>();
}

std::vector<std::string> numbered_entries(int directory, char first)
{
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> entries(copy < 0 ? nullptr : ::fdopendir(copy), close);
    if (!entries) return names;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name[0] >= first && name[0] <= '9') names.emplace_back(name);
    }
    return names;
}

}  // namespace cmcp::sandbox
