#include "app/engine_settings.hpp"

#include "sandboxes/node_name.hpp"
#include "text/handles.hpp"

#include <algorithm>
#include <filesystem>

namespace cmcp {

engine::engine_options engine_options_from(const settings& chosen)
{
    engine::engine_options made;
    made.where = engine::find_engine(chosen.sandbox_engine);
    made.runtime = chosen.sandbox_engine_runtime;
    made.node = handle_maker(node_name(chosen)).node();
    made.root = std::filesystem::absolute(chosen.sandbox_root).lexically_normal().string();
    made.required = "no_new_privs capabilities";
    for (const char* name : {"seccomp", "no_network", "limits"})
        if (std::find(chosen.sandbox_require.begin(), chosen.sandbox_require.end(), name) !=
            chosen.sandbox_require.end())
            made.required += std::string(" ") + name;
    for (const auto& name : chosen.sandbox_images)
        if (name != "native" && name != "*") made.images.push_back(name);
    return made;
}

}  // namespace cmcp
