#include "runs/file_viewer.hpp"

#include "charset/guess_charset.hpp"
#include "config/execution_settings.hpp"
#include "files/file_error.hpp"
#include "files/file_policy.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "runs/python_run.hpp"
#include "runs/reader_limits.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace cmcp {

extern const std::string_view view_file;  // view_file.py

namespace {

constexpr std::size_t longest_side = 1568;         // pixels; models see no more
constexpr std::size_t most_image_bytes = 700'000;  // before base64
constexpr std::size_t small_image_bytes = 256 << 10;
constexpr std::size_t most_guessed_from = 256 << 10;
constexpr const char* pdftoppm = "/usr/bin/pdftoppm";
constexpr const char* pdfinfo = "/usr/bin/pdfinfo";

struct magic {
    std::string_view begin;
    std::string_view media_type;
};

constexpr std::array<magic, 3> plain_images{
    {{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"}}};

std::string_view image_type(std::string_view bytes)
{
    for (const auto& each : plain_images)
        if (bytes.starts_with(each.begin)) return each.media_type;
    return bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP") ? "image/webp" : std::string_view();
}

std::uint32_t big_endian(std::string_view bytes)
{
    std::uint32_t number = 0;
    for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
}

// A PNG of few bytes may have many pixels.
bool is_large(std::string_view bytes)
{
    if (bytes.size() > small_image_bytes) return true;
    if (image_type(bytes) != "image/png" || bytes.size() < 24) return false;
    return big_endian(bytes.substr(16)) > longest_side || big_endian(bytes.substr(20)) > longest_side;
}

file_view as_it_is(std::string_view bytes)
{
    file_view view;
    view.image = shown_image{base64_encode(bytes), std::string(image_type(bytes))};
    view.about = std::to_string(bytes.size()) + " bytes";
    return view;
}

bool is_other_image(std::string_view extension)
{
    for (const char* each : {"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico", "ppm", "pgm", "pbm"})
        if (extension == each) return true;
    return false;
}

std::string_view table_kind(std::string_view extension)
{
    for (const char* each : {"csv", "tsv", "xlsx"})
        if (extension == each) return each;
    return {};
}

// Enough to know the charset by: the file may be large.
std::string_view beginning_of_text(std::string_view bytes)
{
    if (!utf16_without_mark(bytes).empty()) return bytes.substr(0, most_guessed_from);
    const auto beyond =
        std::find_if(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) > 0x7f; });
    return bytes.substr(static_cast<std::size_t>(beyond - bytes.begin()), most_guessed_from);
}

void check_end(const sandbox::run_result& end)
{
    using sandbox::cause;
    if (end.why == cause::exited && end.exit_code == 0) return;
    if (end.why == cause::timeout || end.why == cause::cpu_limit)
        throw file_error("The file takes too long to be shown; make a smaller one of it.");
    if (end.why == cause::memory_limit || end.why == cause::output_limit)
        throw file_error("The file is too large to be shown; make a smaller one of it.");
    if (end.why == cause::setup_failed) throw file_error("The file cannot be shown: " + end.error);
    throw file_error("The file cannot be shown: it is damaged, or protected by a password.");
}

sandbox::run_request request_for_view(std::string bytes)
{
    sandbox::run_request request;
    request.input = std::move(bytes);
    request.limits = reader_limits();
    request.programs.all = false;
    request.label = "view of a file";
    return request;
}

// PNG is exact; a page with photographs is small enough as JPEG only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> page_forms{
    {{"-png", "image/png"}, {"-jpeg", "image/jpeg"}}};

std::size_t number_behind(std::string_view text, std::string_view name)
{
    const auto begin = text.find(name);
    if (begin == std::string_view::npos) return 0;
    text.remove_prefix(begin + name.size());
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
    return read_number<std::size_t>(text.substr(0, text.find('\n'))).value_or(0);
}

std::vector<std::string> page_arguments(std::size_t page, std::string form)
{
    const auto number = std::to_string(page);
    return {pdftoppm, std::move(form), "-f", number, "-l", number, "-singlefile", "-scale-to", "1200", "-"};
}

}  // namespace

file_viewer::file_viewer(const execution_settings& config, sandbox::backend& backend, run_admission& admission,
                         blocking_pool& pool)
    : interpreter_(config.python_interpreter), backend_(backend), admission_(admission), pool_(pool)
{
}

awaitable<std::string> file_viewer::run(std::string caller, sandbox::run_request request)
{
    const auto slot = co_await admission_.enter(std::move(caller));
    if (!slot) throw file_error(busy_sentence);
    sandbox::output_head output(request.limits.output);
    const auto end = co_await backend_.run(std::move(request), output);
    check_end(end);
    co_return std::move(output.out);
}

awaitable<json::object> file_viewer::ask_python(std::string caller, json::object options, std::string bytes)
{
    auto write_input = [options, read = std::make_shared<std::string>(std::move(bytes))] {
        auto own = options;
        if (own.contains("charset")) own["charset"] = guess_charset(beginning_of_text(*read));
        return jsonrpc::write_json(own) + "\n" + *read;
    };
    auto input = co_await pool_.run(caller, std::move(write_input));
    auto request = request_for_view(std::move(input));
    start_python(request, python_home::none, interpreter_);
    request.script = std::string(view_file);
    const auto text = co_await run(std::move(caller), std::move(request));
    auto answer = jsonrpc::read_object(text);
    if (const auto refusal = text_of(answer, "error"); !refusal.empty()) throw file_error(refusal);
    co_return answer;
}

awaitable<file_view> file_viewer::view_image(std::string caller, std::string bytes)
{
    if (!image_type(bytes).empty() && !is_large(bytes)) co_return as_it_is(bytes);
    json::object options{{"kind", "image"}, {"longest_side", longest_side}, {"most_bytes", most_image_bytes}};
    const bool can_be_sent = !image_type(bytes).empty() && bytes.size() <= most_image_bytes;
    const std::string as_file = can_be_sent ? bytes : std::string();
    const auto answer = co_await ask_python(std::move(caller), std::move(options), std::move(bytes));
    if (answer.contains("missing") && can_be_sent) co_return as_it_is(as_file);
    if (!answer.contains("image"))
        throw file_error(
            "Images that are large or of a rare kind cannot be shown on this machine: install the Debian package "
            "python3-pil (apt-get install python3-pil).");
    file_view view;
    view.image = shown_image{text_of(answer, "image"), text_of(answer, "type")};
    view.about = text_of(answer, "about");
    co_return view;
}

awaitable<std::size_t> file_viewer::pages_of_pdf(std::string caller, std::string bytes)
{
    auto request = request_for_view(std::move(bytes));
    request.argv = {pdfinfo, "-"};
    const auto text = co_await run(std::move(caller), std::move(request));
    co_return number_behind(text, "Pages:");
}

awaitable<file_view> file_viewer::view_pdf(std::string caller, std::string bytes, std::size_t page)
{
    if (::access(pdftoppm, X_OK) != 0)
        throw file_error(
            "PDF cannot be shown on this machine: install the Debian package poppler-utils (apt-get install "
            "poppler-utils).");
    file_view view;
    view.pages = co_await pages_of_pdf(caller, bytes);
    if (page > view.pages) throw file_error("page: the file has " + std::to_string(view.pages) + " pages.");
    for (const auto& [form, media_type] : page_forms) {
        auto request = request_for_view(bytes);
        request.argv = page_arguments(page, std::string(form));
        const auto pixels = co_await run(caller, std::move(request));
        view.image = shown_image{base64_encode(pixels), std::string(media_type)};
        if (pixels.size() <= most_image_bytes) break;
    }
    view.about = "page " + std::to_string(page) + " of " + std::to_string(view.pages);
    co_return view;
}

awaitable<file_view> file_viewer::view(std::string caller, std::string name, std::string bytes, std::size_t page)
{
    const auto extension = file_policy::extension_of(name);
    if (bytes.starts_with("%PDF-")) co_return co_await view_pdf(std::move(caller), std::move(bytes), page);
    if (!image_type(bytes).empty() || is_other_image(extension))
        co_return co_await view_image(std::move(caller), std::move(bytes));
    const std::string kind(table_kind(extension));
    if (kind.empty())
        throw file_error("Images, PDF and tables (csv, tsv, xlsx) can be shown; file_read reads other files.");
    json::object options{{"kind", kind}, {"page", page}};
    if (kind != "xlsx") options["charset"] = "";  // to be guessed
    const auto answer = co_await ask_python(std::move(caller), std::move(options), std::move(bytes));
    file_view view;
    view.table = text_of(answer, "table");
    view.about = text_of(answer, "about");
    view.pages = static_cast<std::size_t>(number_of(answer, "pages", 1));
    co_return view;
}

}  // namespace cmcp
