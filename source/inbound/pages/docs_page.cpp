#include "pages/page_files.hpp"
#include "rest/rest_routes.hpp"

#include <string_view>

namespace cmcp {

namespace docs {
extern const std::string_view docs_page_html, docs_page_css, docs_page_js, docs_code_js;  // docs/page.html, …
}

namespace ui {
extern const std::string_view elements_js;  // ui/elements.js
}

namespace {

const page_file docs_files[] = {
    {"/docs", docs::docs_page_html, html_type, docs::docs_page_css},
    {"/docs/page.js", docs::docs_page_js, script_type},
    {"/docs/code.js", docs::docs_code_js, script_type},
    {"/ui/elements.js", ui::elements_js, script_type},  // of both pages
};

}  // namespace

// The page is open because it holds no secret and has a field for the token.
void add_docs_route(router& routes) { add_page_files(routes, docs_files); }

}  // namespace cmcp
