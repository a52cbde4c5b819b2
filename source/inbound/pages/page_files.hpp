#pragma once

#include "http/router.hpp"

#include <span>
#include <string>
#include <string_view>

namespace cmcp {

/// A file of a page that is part of the program. An HTML one is found without a slash at its end, because its addresses
/// are relative: they hold behind any prefix of a proxy.
struct page_file {
    const char* path;
    std::string_view text;
    const char* type;
    std::string_view style{};  ///< of an HTML one: stands in its <style>, so that its first bytes are all to paint it
};

inline constexpr const char* html_type = "text/html; charset=utf-8";
inline constexpr const char* style_type = "text/css; charset=utf-8";
inline constexpr const char* script_type = "text/javascript; charset=utf-8";

/// What the HTML file of a page needs beside its files.
struct page_needs {
    std::string_view folder = {};   ///< such as "ui/": it names the files below by a digest of all, which browsers keep
    std::string frames = "'none'";  ///< what it may show in frames, as in a Content-Security-Policy
};

/// GET and HEAD of each file, for anybody. `files` must outlive the routes.
void add_page_files(router& routes, std::span<const page_file> files, const page_needs& needs = {});

/// The fields that go with a page: it loads scripts and styles of this server alone, and runs none that stand in it.
http_reply& protect_page(http_reply& reply);

}  // namespace cmcp
