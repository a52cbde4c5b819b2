#pragma once

#include "load/recorder.hpp"
#include "load/wire.hpp"

#include <cstddef>
#include <deque>

namespace cmcp::load {

/// The servers of a test, by the order of their addresses. A server that is gone is left out. After a back-off, which
/// doubles up to two seconds, one client at a time tries it again.
class server_list {
public:
    /// Throws cannot_begin. `connections`: how many there will be at once.
    server_list(const load_options& options, std::size_t connections);

    std::size_t size() const { return servers_.size(); }
    route& way(std::size_t which) { return servers_[which].way; }

    void failed(std::size_t which, clock::time_point now);
    void answered(std::size_t which);

    /// True when the server is there, or its back-off is over and nobody else tries it: the caller then does.
    bool claim(std::size_t which, clock::time_point now);

    /// Claims the first server that can be claimed, from `home` on; `home` where there is none.
    std::size_t choose(std::size_t home, clock::time_point now);

private:
    struct entry {
        entry(const server_address& address, const load_options& options, std::size_t connections)
            : way(address, options, connections)
        {
        }

        route way;
        bool gone = false;
        bool tried = false;  // a client tries it at present
        clock::duration back_off{};
        clock::time_point again_at;
    };

    std::deque<entry> servers_;  // connections point into it
};

}  // namespace cmcp::load
