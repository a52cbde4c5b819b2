#pragma once

#include "launcher/run.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// What those who prepare runs need of the launcher.
class run_keeper {
public:
    virtual ~run_keeper() = default;
    virtual void watch(int fd, std::uint64_t tag) = 0;
    virtual workshop shop() = 0;
    virtual void keep(std::uint64_t key, std::unique_ptr<run> made) = 0;
    virtual void watch_run(std::uint64_t key) = 0;  ///< it has a process now
    virtual run* find(std::uint64_t key) = 0;
    virtual void drop(std::uint64_t key) = 0;  ///< ends it and forgets it, without a word to the server
    virtual void start_cold(start_message start, std::vector<unique_fd> descriptors) = 0;
    virtual void tell(const std::string& state) = 0;  ///< for the server
};

}  // namespace cmcp::sandbox
