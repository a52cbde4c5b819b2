#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace cmcp {

/// Whose a folder is.
struct file_owner {
    explicit file_owner(const struct stat& of) : user(of.st_uid), group(of.st_gid) {}

    uid_t user;
    gid_t group;
};

/// In a server that runs as root: this thread has the rights of one user to files, and none of root's, until the end.
/// Elsewhere nothing. Ends on the thread where it began; those of one thread end in the reverse order.
class owner_rights {
public:
    explicit owner_rights(file_owner as);  ///< throws std::system_error
    owner_rights(const owner_rights&) = delete;
    owner_rights& operator=(const owner_rights&) = delete;
    ~owner_rights();

private:
    void give_back() const;

    bool active_;
    uid_t user_ = 0;
    gid_t group_ = 0;
    std::array<std::uint32_t, 2> effective_{};  // capabilities before
};

}  // namespace cmcp
