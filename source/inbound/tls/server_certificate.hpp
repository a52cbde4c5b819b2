#pragma once

#include "tls/openssl_handles.hpp"
#include "tls/ticket_keys.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace cmcp {

struct http_settings;

/// what() names the setting and its file, and says what to do.
struct certificate_problem : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The ground of connections: certificate, key and rules of one moment. Connections that are open keep theirs.
struct tls_context {
    ssl_context_handle handle;
    std::shared_ptr<ticket_keys> tickets;
    std::string ends;  ///< when the certificate's time is over, as OpenSSL writes it
    bool in_its_time = false;
};

/// The certificate and key that this server shows, read from TLS_CERT and TLS_KEY and anew when those change.
class server_certificate {
public:
    /// `config` must outlive this. Throws certificate_problem.
    explicit server_certificate(const http_settings& config);

    std::shared_ptr<const tls_context> context() const { return context_; }

    void tell() const;  ///< into the log: which certificate, and whether it is valid by its time

    /// Reads the files. With a bad pair the former one stays, and the log tells why.
    void reload();

    /// To be called from time to time: reads the files once they have changed and then have stayed the same for one
    /// call, because certificate and key are often written one after the other.
    void look();

    /// The folders from which files are read, symbolic links followed too, for a process that confines itself.
    static std::vector<std::string> folders(const http_settings& config);

private:
    struct file_state {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = 0;
        timespec written{};
        bool operator==(const file_state& other) const;
    };
    using states = std::vector<file_state>;
    states seen() const;
    void read();

    const http_settings& config_;
    std::shared_ptr<ticket_keys> tickets_;
    std::shared_ptr<const tls_context> context_;
    states read_at_, looked_at_;
};

}  // namespace cmcp
