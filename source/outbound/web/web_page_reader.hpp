#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "jsonrpc/json.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/output_head.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace cmcp {

struct execution_settings;

/// The parts to take from a page.
struct page_wish {
    std::string kind = "html";    ///< html, xml, rendered (what page_extract.js gives), results
    std::string base;             ///< absolute URL that references are relative to
    std::string format = "text";  ///< text, markdown, html, links
    std::optional<std::string> selector;
    std::size_t max_length = 100'000;  ///< characters of content
};

/// Reads pages with BeautifulSoup and lxml, and PDF with pdftotext, in a sandbox that holds nothing but these.
class web_page_reader {
public:
    /// All must outlive this.
    web_page_reader(const execution_settings& config, sandbox::backend& backend, run_admission& admission,
                    blocking_pool& pool);

    /// {content, title, matches, length, truncated, links}, or {results, challenge} for kind "results"; {error:
    /// sentence} when the page could not be read within `limit`, which begins when a run may start.
    awaitable<json::object> read(std::string caller, std::string page, page_wish wish, std::chrono::milliseconds limit);

    /// {content} or {error}.
    awaitable<json::object> read_pdf(std::string caller, std::string document, std::chrono::milliseconds limit);

private:
    /// The result's `error`: a sentence; empty: the run came to its end.
    awaitable<sandbox::run_result> run(std::string caller, sandbox::run_request request,
                                       std::chrono::milliseconds limit, sandbox::output_head& output);

    std::string interpreter_;
    sandbox::backend& backend_;
    run_admission& admission_;
    blocking_pool& pool_;
};

}  // namespace cmcp
