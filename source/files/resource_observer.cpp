#include "files/resource_observer.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <system_error>
#include <utility>

namespace cmcp {

std::shared_ptr<void> observe_file(file_watch& watch, const std::filesystem::path& folder, const std::string& path,
                                   std::function<void()> changed)
try {
    const file_path inside("uri", path);
    const file_root root(folder);
    const unique_fd parent = root.open_parent(inside);
    return watch.observe(parent.get(), inside.leaf(), std::move(changed));
} catch (const file_missing&) {
    return nullptr;
} catch (const file_error& problem) {
    throw rpc_error(rpc_code::invalid_params, problem.what());
} catch (const std::system_error& problem) {
    throw rpc_error(rpc_code::server_error,
                    std::string("the file cannot be observed: ") + problem.what() +
                        "; unsubscribe from others first, or raise fs.inotify.max_user_watches");
}

}  // namespace cmcp
