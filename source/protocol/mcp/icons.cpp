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

std::string address_of(std::string_view svg) { return "data:image/svg+xml;base64," + base64_encode(svg); }

}  // namespace

json::array server_icons() { return tool_icons(scope::admin); }

json::array tool_icons(scope needed)
{
    namespace svg = icon_files;
    static const std::array<std::string, 7> of_scopes{
        address_of(svg::read),     address_of(svg::files), address_of(svg::run),   address_of(svg::sandboxes),
        address_of(svg::packages), address_of(svg::web),   address_of(svg::server)};
    return {{{"src", of_scopes.at(static_cast<std::size_t>(needed))},
             {"mimeType", "image/svg+xml"},
             {"sizes", json::array{"any"}}}};
}

}  // namespace cmcp
