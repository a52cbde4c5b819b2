#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "jsonrpc/json.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/output_head.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace cmcp {

struct execution_settings;

/// An image that a model can be shown.
struct shown_image {
    std::string base64;
    std::string media_type;  ///< image/png or image/jpeg; of a small file, as it is, image/gif and image/webp, too
};

/// The visible part of a file.
struct file_view {
    std::string about;  ///< size and position in a line, for example "page 2 of 7"
    std::string table;  ///< Markdown; empty: it is no table
    std::optional<shown_image> image;
    std::size_t pages = 1;
};

/// Shows files to models: images, scaled down where they are large (Pillow), pages of PDF (poppler), tables. Hostile
/// files are read in a run of their own, without network and files.
class file_viewer {
public:
    /// All must outlive this.
    file_viewer(const execution_settings& config, sandbox::backend& backend, run_admission& admission,
                blocking_pool& pool);

    /// `page` counts from 1: pages of PDF, of tables fifty rows each. Throws file_error.
    awaitable<file_view> view(std::string caller, std::string name, std::string bytes, std::size_t page);

private:
    awaitable<file_view> view_image(std::string caller, std::string bytes);
    awaitable<file_view> view_pdf(std::string caller, std::string bytes, std::size_t page);
    awaitable<std::size_t> pages_of_pdf(std::string caller, std::string bytes);
    awaitable<json::object> ask_python(std::string caller, json::object options, std::string bytes);

    /// Throws file_error where it did not come to its end.
    awaitable<std::string> run(std::string caller, sandbox::run_request request);

    std::string interpreter_;
    sandbox::backend& backend_;
    run_admission& admission_;
    blocking_pool& pool_;
};

}  // namespace cmcp
