#pragma once

#include "posix/unique_fd.hpp"

#include <netinet/in.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// The answer to a DNS query (RFC 1035) by which each name has an address that stands for it; nothing: it is none.
/// `index_of` gives the name's number.
class local_names {
public:
    /// Opens the resolver of a network without a way out, on 127.0.0.1. Throws step_failed.
    void open();
    int readable() const { return socket_.get(); }  ///< -1: it is not open
    void answer();                                  ///< the queries that wait

    std::optional<std::string> name_of(const in_addr& address) const;

    /// The answer to one query; empty: it cannot be read.
    std::string answer_to(std::string_view query);

private:
    std::uint32_t address_of(const std::string& name);

    unique_fd socket_;
    std::vector<std::string> names_;
};

}  // namespace cmcp::sandbox
