#pragma once

#include "config/settings.hpp"
#include "test/support/temporary_folder.hpp"

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace cmcp::test {

/// A member of etcd alone on loopback, without TLS, which ends with the object.
class etcd_server {
public:
    etcd_server();  ///< returns when it answers
    etcd_server(const etcd_server&) = delete;
    etcd_server& operator=(const etcd_server&) = delete;
    ~etcd_server();

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    std::uint16_t port() const { return port_; }

    void hold_up() const;  ///< it does not answer any more
    void go_on() const;

    /// Of a server of this name that uses it.
    settings settings_of(const std::string& node) const;

private:
    temporary_folder folder_;
    std::uint16_t port_;
    pid_t process_ = -1;
    int log_ = -1;  // what it says, which nobody reads when it is ready
};

}  // namespace cmcp::test
