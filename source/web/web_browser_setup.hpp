#pragma once

#include "config/settings.hpp"
#include "web/browser.hpp"

#include <string>

namespace cmcp {

/// WEB_BROWSER_PATH, or the first Chromium of the usual places; empty: there is none.
std::string find_browser_program(const settings& config);

/// container-mcp-browser, which lies beside the launcher; empty: it is not there.
std::string find_browser_host(const settings& config);

/// Why there can be no browser, in a sentence that says what to do; empty: there can.
std::string browser_obstacle(const settings& config);

browser_options browser_options_from(const settings& config);

}  // namespace cmcp
