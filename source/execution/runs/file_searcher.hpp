#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace cmcp {

struct file_search_request {
    std::string pattern;     ///< a regular expression, of one line
    std::string path = ".";  ///< a folder or a file
    std::string glob{};      ///< names or paths of files, see files/glob.hpp; empty: all
    bool ignore_case = false;
    std::size_t context = 0;  ///< lines around each match
    std::size_t limit = 100;  ///< matches a page
    std::size_t offset = 0;   ///< matches before the page
    bool everything = false;  ///< also what is left out otherwise: repositories' own files, packages, caches
};

struct file_matches {
    std::string text;             ///< `path:12: text`, and `path-13- text` around a match
    std::size_t matches = 0;      ///< of all pages
    std::size_t files = 0;        ///< with a match
    std::size_t next_offset = 0;  ///< of the next page; 0: there is none
    std::string note;             ///< why there may be more than was counted; empty: there is not
};

/// Searches the text of files by ripgrep, else by grep, in a run of its own without network: an expression that never
/// comes to its end ends with the run. Binary files are left out.
class file_searcher {
public:
    /// All must outlive this. `ripgrep`: whether it is installed.
    file_searcher(sandbox::backend& backend, run_admission& admission, blocking_pool& pool, bool ripgrep);

    static bool has_ripgrep();

    /// Searches below `folder`, a folder of this machine. The page has at most `room` bytes of JSON. Throws file_error.
    awaitable<file_matches> search(std::string principal, std::filesystem::path folder, file_search_request what,
                                   std::size_t room);

private:
    sandbox::run_request request_for(const std::filesystem::path& folder, const file_search_request& what) const;

    sandbox::backend& backend_;
    run_admission& admission_;
    blocking_pool& pool_;
    bool ripgrep_;
};

}  // namespace cmcp
