#include "secrets/secret_key.hpp"

#include "config/server_settings.hpp"
#include "posix/bytes.hpp"
#include "secrets/secret_error.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t key_bytes = 32;
constexpr mode_t rights_of_others = 077;

[[noreturn]] void cannot_use(const fs::path& file, const std::string& why)
{
    throw secret_error("the key of secrets, " + file.string() + ", cannot be used: " + why);
}

fs::path default_file()
{
    const char* config = std::getenv("XDG_CONFIG_HOME");
    if (config != nullptr && *config == '/') return fs::path(config) / "container-mcp" / "secrets.key";
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return fs::path(home) / ".config" / "container-mcp" / "secrets.key";
    throw secret_error("there is no folder for the key of secrets: set SECRETS_KEY_FILE");
}

// As the folder is reached, and where that leads.
bool lies_in(const fs::path& file, const fs::path& folder)
{
    const auto below = [](const fs::path& name, const fs::path& above) {
        const auto way = name.lexically_relative(above);
        return !way.empty() && *way.begin() != "..";
    };
    std::error_code absent;
    return below(fs::absolute(file).lexically_normal(), fs::absolute(folder).lexically_normal()) ||
           below(fs::weakly_canonical(file, absent), fs::weakly_canonical(folder, absent));
}

std::string bytes_of(const fs::path& file, std::string_view digits)
{
    auto key = hex_bytes(digits);
    if (!key || key->size() != key_bytes) cannot_use(file, "it has 64 hexadecimal digits, and nothing else");
    return *std::move(key);
}

void check_rights(const fs::path& file, int descriptor)
{
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) cannot_use(file, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) cannot_use(file, "it is no file");
    const bool is_own = status.st_uid == ::geteuid() || status.st_uid == 0 || ::geteuid() == 0;
    if (!is_own) cannot_use(file, "it belongs to another user");
    if ((status.st_mode & rights_of_others) != 0) cannot_use(file, "others may read it; chmod 600 ends that");
}

}  // namespace

fs::path secrets_key_file(const server_settings& config)
{
    auto file = config.secrets_key_file.empty() ? default_file() : fs::absolute(config.secrets_key_file);
    if (lies_in(file, config.sandbox_root))
        cannot_use(file, "it is in SANDBOX_ROOT, beside what it encrypts; set SECRETS_KEY_FILE to another folder");
    return file;
}

bool has_secrets_key(const server_settings& config)
{
    std::error_code unreadable;
    return fs::exists(fs::symlink_status(secrets_key_file(config), unreadable));
}

std::string read_secrets_key(const server_settings& config)
{
    const auto file = secrets_key_file(config);
    const unique_fd open_file(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!open_file && errno == ENOENT)
        cannot_use(file, "it is not there; put it back, or remove the secrets that need it and set them anew");
    if (!open_file) cannot_use(file, std::strerror(errno));
    check_rights(file, open_file.get());
    const auto text = read_at(open_file.get(), 0, 4 * key_bytes);
    if (!text) cannot_use(file, std::strerror(errno));
    return bytes_of(file, trimmed(*text, white_space));
}

// The file appears whole, because its name is given to a finished one, and never in the place of another.
void make_secrets_key(const server_settings& config)
{
    const auto file = secrets_key_file(config);
    std::error_code failure;
    if (!fs::exists(file.parent_path(), failure)) {
        fs::create_directories(file.parent_path(), failure);
        if (!failure) fs::permissions(file.parent_path(), fs::perms::owner_all, failure);
    }
    const fs::path passing = file.string() + "." + random_id(8);
    const unique_fd fresh(::open(passing.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    // A server that confines itself may write nothing there.
    if (!fresh && errno == EACCES)
        cannot_use(file, "it cannot be made from here; set the first secret with `container-mcp secret set`");
    if (!fresh) cannot_use(file, std::strerror(errno));
    struct stat root {};
    const bool is_for_another = ::geteuid() == 0 && ::stat(config.sandbox_root.c_str(), &root) == 0 && root.st_uid != 0;
    bool right = write_all(fresh.get(), random_id(key_bytes) + "\n") && ::fsync(fresh.get()) == 0;
    right = right && (!is_for_another || ::fchown(fresh.get(), root.st_uid, root.st_gid) == 0);
    right = right && (::link(passing.c_str(), file.c_str()) == 0 || errno == EEXIST);
    const int why = errno;
    ::unlink(passing.c_str());
    if (!right) cannot_use(file, std::strerror(why));
}

}  // namespace cmcp
