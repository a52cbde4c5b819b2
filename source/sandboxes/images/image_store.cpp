#include "images/image_store.hpp"

#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace cmcp {
namespace {

namespace fs = std::filesystem;

constexpr const char* passing = "passing-";  // begins the names of folders that are no entries yet, or none any more

bool plain_in_file_name(unsigned char c) { return c > ' ' && c < 0x7f && c != '/' && c != '%'; }

void move(const fs::path& from, const fs::path& to)
{
    if (::rename(from.c_str(), to.c_str()) != 0) throw_errno(to);
}

// A name of an entry outlives a crash of the machine only with its content.
void sync_file_system(const fs::path& folder)
{
    const unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened || ::syncfs(opened.get()) != 0) throw_errno(folder);
}

std::vector<fs::path> entries_of(const fs::path& folder)
{
    std::error_code absent;
    std::vector<fs::path> all;
    for (fs::directory_iterator at(folder, absent), end; !absent && at != end; at.increment(absent))
        all.push_back(at->path());
    std::sort(all.begin(), all.end());
    return all;
}

// percent_encoded() back.
std::string decoded(const std::string& text)
{
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            name += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else
            name += text[i];
    }
    return name;
}

}  // namespace

std::string read_text(const fs::path& file)
{
    const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return opened ? read_all(opened.get()) : std::string();
}

void write_text(const fs::path& file, const std::string& text)
{
    const unique_fd opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!opened || !write_all(opened.get(), text)) throw_errno(file);
}

std::string facts_text(const image& of)
{
    json::array environment;
    for (const auto& [name, value] : of.environment) environment.emplace_back(json::array{name, value});
    return json::serialize(json::object{{"source", of.source},
                                        {"environment", std::move(environment)},
                                        {"working_dir", of.working_dir},
                                        {"bytes", static_cast<std::int64_t>(of.bytes)},
                                        {"files", static_cast<std::int64_t>(of.files)}});
}

std::optional<image> image_store::read(const std::string& digest) const
{
    const auto facts = jsonrpc::read_object(read_text(folder_ / digest / image_files::facts));
    if (facts.empty()) return std::nullopt;
    image of;
    of.digest = digest;
    of.root = folder_ / digest / image_files::root;
    of.source = text_of(facts, "source");
    of.working_dir = text_of(facts, "working_dir");
    of.bytes = static_cast<std::uint64_t>(number_of(facts, "bytes"));
    of.files = static_cast<std::uint64_t>(number_of(facts, "files"));
    const auto* environment = facts.if_contains("environment");
    if (environment == nullptr || !environment->is_array()) return of;
    for (const auto& each : environment->get_array())
        of.environment.push_back(json::value_to<std::pair<std::string, std::string>>(each));
    return of;
}

fs::path image_store::file_of_name(const std::string& name) const
{
    return folder_ / "names" / percent_encoded(name, plain_in_file_name);
}

std::optional<image> image_store::find(const std::string& name_or_digest) const
{
    if (const auto digest = image_digest(name_or_digest)) return read(*digest);
    const auto digest = image_digest(read_text(file_of_name(image_name(name_or_digest))));
    return digest ? read(*digest) : std::nullopt;
}

std::vector<std::string> image_store::names_of(const std::string& digest) const
{
    std::vector<std::string> names;
    for (const auto& file : entries_of(folder_ / "names"))
        if (read_text(file) == digest) names.push_back(decoded(file.filename().string()));
    return names;
}

std::vector<std::string> image_store::names() const
{
    std::vector<std::string> all;
    for (const auto& file : entries_of(folder_ / "names")) all.push_back(decoded(file.filename().string()));
    return all;
}

timespec image_store::names_changed() const
{
    struct stat status {};
    return ::stat((folder_ / "names").c_str(), &status) == 0 ? status.st_mtim : timespec{};
}

std::vector<image_store::entry> image_store::list() const
{
    std::vector<entry> all;
    for (const auto& each : entries_of(folder_)) {
        const auto digest = image_digest(each.filename().string());
        if (auto of = digest ? read(*digest) : std::nullopt) all.push_back({std::move(*of), names_of(*digest)});
    }
    return all;
}

unique_fd image_store::lock() const
{
    fs::create_directories(folder_ / "names");
    const fs::path file = folder_ / ".lock";
    unique_fd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) throw_errno(file);
    return lock;
}

void image_store::clear_leftovers() const
{
    for (const auto& each : entries_of(folder_))
        if (each.filename().string().starts_with(passing)) fs::remove_all(each);
}

fs::path image_store::make_passing() const
{
    std::string folder = (folder_ / (passing + std::string("XXXXXX"))).string();
    if (::mkdtemp(folder.data()) == nullptr) throw_errno(folder);
    return folder;
}

void image_store::keep(const fs::path& entry, const std::string& digest) const
{
    if (::chmod(entry.c_str(), 0755) != 0) throw_errno(entry);
    sync_file_system(folder_);
    move(entry, folder_ / digest);
}

void image_store::set_name(const std::string& name, const std::string& digest) const
{
    const fs::path fresh = folder_ / (passing + std::string("name"));
    write_text(fresh, digest);
    sync_file_system(folder_);
    move(fresh, file_of_name(name));
}

void image_store::forget_name(const std::string& name) const { fs::remove(file_of_name(name)); }

void image_store::remove(const std::string& digest) const
{
    for (const auto& name : names_of(digest)) forget_name(name);
    const fs::path gone = make_passing() / digest;
    move(folder_ / digest, gone);
    fs::remove_all(gone.parent_path());
}

}  // namespace cmcp
