#include "web/web_page_script.hpp"

namespace cmcp {
const std::string& web_page_script()
{
    static const std::string whole =
        std::string(web_page_reading) + std::string(web_page_renderer) + std::string(web_page_beginning);
    return whole;
}

}  // namespace cmcp
