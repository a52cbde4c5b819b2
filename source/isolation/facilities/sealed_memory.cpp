#include "facilities/sealed_memory.hpp"

#include "facilities/setup_step.hpp"
#include "posix/bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cmcp::sandbox {
namespace {

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

unique_fd sealed_memory(const char* name, std::string_view content)
{
    unique_fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) throw_errno("memfd_create");
    if (!write_all(file.get(), content)) throw_errno("write to a memory file");
    constexpr int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0)
        throw_errno("seal a memory file");
    return file;
}

std::string read_memory(int memory, const char* step)
{
    struct stat status {};
    check(::fstat(memory, &status), step);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t length =
            check(::pread(memory, text.data() + done, text.size() - done, static_cast<off_t>(done)), step);
        if (length == 0) throw step_failed(step, EBADMSG);
        done += static_cast<std::size_t>(length);
    }
    return text;
}

}  // namespace cmcp::sandbox
