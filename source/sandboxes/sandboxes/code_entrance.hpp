#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"
#include "sandboxes/rest_code.hpp"

#include <map>
#include <memory>
#include <string>

namespace cmcp {

/// The way by which programs of sandboxes call tools: HTTP at a listener in the network of each live cell, with the
/// ticket of the run as bearer token (add_code_routes). Everything given to the constructor must outlive this. Io
/// thread only.
class code_entrance {
public:
    code_entrance(asio::any_io_executor executor, code_sources from);
    code_entrance(const code_entrance&) = delete;
    code_entrance& operator=(const code_entrance&) = delete;
    ~code_entrance();

    /// Serves the door of this sandbox's cell, in place of that of an earlier cell. No door: the cell has ended.
    void open(const std::string& sandbox, unique_fd door);

    awaitable<> stop();  ///< to be awaited before the destruction

private:
    struct shared;
    struct door;

    std::shared_ptr<shared> shared_;                      ///< with the connections
    std::map<std::string, std::shared_ptr<door>> doors_;  ///< by sandbox
};

}  // namespace cmcp
