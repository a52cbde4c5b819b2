#include "app/engine_settings.hpp"

#include "sandboxes/node_name.hpp"
#include "text/handles.hpp"

#include <algorithm>
#include <filesystem>

namespace cmcp {

engine::engine_options engine_options_from(const settings& config)
{
    engine::engine_options options;
    options.where = engine::find_engine(config.sandbox_engine);
    options.runtime = config.sandbox_engine_runtime;
    options.node = handle_maker(node_name(config)).node();
    options.root = std::filesystem::absolute(config.sandbox_root).lexically_normal().string();
    options.required = "no_new_privs capabilities";
    for (const char* name : {"seccomp", "no_network", "limits"})
        if (std::find(config.sandbox_require.begin(), config.sandbox_require.end(), name) !=
            config.sandbox_require.end())
            options.required += std::string(" ") + name;
    for (const auto& name : config.sandbox_images)
        if (name != "native" && name != "*") options.images.push_back(name);
    return options;
}

}  // namespace cmcp
