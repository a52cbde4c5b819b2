#pragma once

#include "egress/web_url.hpp"
#include "packages/package_programs.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// The part of an index that an installation may ask for: the pages of packages (PEP 503, or the metadata of an npm
/// registry), and the files that those pages named. A run sees every address over plain HTTP, because the server does
/// TLS for it.
class package_index {
public:
    struct place {
        web_url url;  ///< where it really is
        bool is_page = false;
    };

    package_index(package_kind kind, web_url root);

    const web_url& root() const { return root_; }
    std::string plain_root() const;  ///< the root's address as a run sees it

    const char* accepted_pages() const;  ///< as an Accept header

    /// Where an address that a run asks for is; nothing: the run may not ask for it.
    std::optional<place> find(std::string_view address) const;

    struct read_page {
        std::string text;                                    ///< as a run may see it, with plain addresses
        std::vector<std::pair<std::string, web_url>> files;  ///< that the page names, by their plain addresses
    };

    /// Reads the page at `from`. Long pages take long; any thread may do it.
    read_page read(const web_url& from, std::string page) const;

    /// From now on a run may ask for these files.
    void remember(std::vector<std::pair<std::string, web_url>> files);

private:
    std::optional<place> find_page(const std::string& key) const;
    std::optional<web_url> find_file(const std::string& key) const;
    read_page read_tarballs(std::string page) const;

    package_kind kind_;
    web_url root_;                          ///< ends with a slash
    std::map<std::string, web_url> named_;  ///< by the plain address
};

/// Calls `see` with the place of the href of each tag `a` and `base` of an HTML page.
void each_link(std::string_view page, const std::function<void(bool is_base, std::size_t begin, std::size_t end)>& see);

}  // namespace cmcp
