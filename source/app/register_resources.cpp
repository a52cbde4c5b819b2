#include "app/managers.hpp"
#include "files/file_manager.hpp"
#include "files/workspace_resources.hpp"
#include "mcp/server_core.hpp"
#include "sandboxes/sandbox_resources.hpp"

namespace cmcp {

void register_resources(server_core& core, managers& all)
{
    core.add_resources(std::make_unique<workspace_resources>(*all.files, *all.watch));
    if (!all.sandboxes) return;
    core.add_resources(std::make_unique<sandbox_resources>(*all.sandboxes, *all.sandbox_files_, *all.watch, *all.pool));
}

}  // namespace cmcp
