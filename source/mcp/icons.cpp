#include "mcp/icons.hpp"

#include "text/encodings.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

namespace icon_files {

extern const std::string_view server, read, files, run, sandboxes, packages, web;  // icons/*.svg

}  // namespace icon_files

namespace {

json::array icon_of(std::string_view svg)
{
    return {{{"src", "data:image/svg+xml;base64," + base64_encode(svg)},
             {"mimeType", "image/svg+xml"},
             {"sizes", json::array{"any"}}}};
}

}  // namespace

json::array server_icons() { return icon_of(icon_files::server); }

json::array tool_icons(scope needed)
{
    switch (needed) {
        case scope::read:
            return icon_of(icon_files::read);
        case scope::files:
            return icon_of(icon_files::files);
        case scope::run:
            return icon_of(icon_files::run);
        case scope::sandboxes:
            return icon_of(icon_files::sandboxes);
        case scope::packages:
            return icon_of(icon_files::packages);
        case scope::web:
            return icon_of(icon_files::web);
        case scope::admin:
            break;
    }
    return server_icons();
}

}  // namespace cmcp
