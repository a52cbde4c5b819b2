#include "jupyter/contents.hpp"

#include "async/sized_work.hpp"
#include "files/file_error.hpp"
#include "files/media_types.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "jupyter/file_entry.hpp"
#include "text/encodings.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr std::size_t most_listed = 10'000;
constexpr std::size_t most_bytes_listed = 8 << 20;  // of names and what is said of them
constexpr std::size_t bytes_of_entry = 250;         // about, of JSON
constexpr std::string_view text_type = "text/plain", bytes_type = "application/octet-stream";

http_refusal no_file(std::string_view path)
{
    return {404, "There is no file or folder " + std::string(path.empty() ? "/" : path) + "."};
}

void check_type(const std::string& wanted, std::string_view path, bool is_folder)
{
    if (wanted.empty() || (wanted == "directory") == is_folder) return;
    throw http_refusal(400, std::string(path) + (is_folder ? " is a folder, and no " + wanted : " is no folder") + ".");
}

// The model's text with a last member, whose value is JSON text.
std::string with_content(json::object model, std::string_view content)
{
    model.erase("content");
    std::string text = jsonrpc::write_json(model);
    text.pop_back();
    return text.append(",\"content\":").append(content).append("}");
}

std::string notebook_model(json::object model, const std::string& bytes)
{
    if (!jsonrpc::is_object_text(bytes))
        throw http_refusal(400, "The notebook is no JSON object; read it as type=file.");
    model["format"] = "json";
    return with_content(std::move(model), bytes);
}

std::string file_model(json::object model, const std::string& bytes, const std::string& format)
{
    const bool is_text = format.empty() ? is_utf8(bytes) : format == "text";
    if (is_text && !is_utf8(bytes)) throw http_refusal(400, "The file is no UTF-8 text; ask for format=base64.");
    model["format"] = is_text ? "text" : "base64";
    model["mimetype"] = media_type_of(view_of(model, "name"), is_text ? text_type : bytes_type);
    return with_content(std::move(model), jsonrpc::write_json(is_text ? std::string_view(bytes)
                                                                      : std::string_view(base64_encode(bytes))));
}

std::string list_model(json::object model, const std::vector<folder_entry>& all, const std::string& folder)
{
    std::string content = "[";
    for (const auto& each : all) {
        auto one = model_of(joined(folder, each.name), type_by_name(each.name, each.is_folder), each.modified);
        if (each.size) one["size"] = *each.size;
        if (content.size() > 1) content += ',';
        jsonrpc::append_json(content, one);
    }
    content += ']';
    model["format"] = "json";
    return with_content(std::move(model), content);
}

}  // namespace

std::string time_of(double seconds)
{
    const std::chrono::duration<double> since(seconds);
    return timestamp(
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since)));
}

std::string type_by_name(std::string_view name, bool is_folder)
{
    if (is_folder) return "directory";
    return name.ends_with(".ipynb") ? "notebook" : "file";
}

json::object model_of(std::string_view path, std::string_view type, double modified)
{
    const std::string time = time_of(modified);
    return {{"name", name_in(path)}, {"path", path},          {"type", type},    {"writable", true},
            {"created", time},       {"last_modified", time}, {"size", nullptr}, {"mimetype", nullptr},
            {"content", nullptr},    {"format", nullptr}};
}

awaitable<contents::entry> contents::look(place at) const
{
    auto work = [inside = at.inside](const file_root& root) {
        entry seen;
        const auto fd = file_root::open_beneath(root.descriptor(), inside, O_PATH);
        struct stat status {};
        if (!fd || ::fstat(fd.get(), &status) != 0) return seen;
        seen.there = S_ISDIR(status.st_mode) || S_ISREG(status.st_mode);
        seen.is_folder = S_ISDIR(status.st_mode);
        seen.size = static_cast<std::uint64_t>(status.st_size);
        seen.modified = modified_of(status);
        return seen;
    };
    auto seen = co_await in_workspace(pool_, folders_.sandboxes(), std::move(at.where), std::move(work));
    co_return seen;
}

awaitable<place> contents::existing(caller who, std::string path) const
{
    auto at = co_await folders_.find(std::move(who), std::move(path));
    const auto seen = co_await look(at);
    if (!seen.there) throw no_file(at.path);
    co_return at;
}

awaitable<bool> contents::is_folder(caller who, std::string path) const
{
    path = trimmed_path(path);
    if (path.empty() || folders::lists_sandboxes(path)) co_return true;
    auto at = co_await folders_.find(std::move(who), std::move(path));
    const auto seen = co_await look(std::move(at));
    co_return seen.is_folder;
}

awaitable<std::string> contents::bytes_of(place at) const
{
    auto work = [inside = at.inside, policy = files_.any_extension()](const file_root& root) {
        return read_bytes(root, policy, file_path("path", inside));
    };
    auto bytes = co_await in_workspace(pool_, folders_.sandboxes(), std::move(at.where), std::move(work));
    co_return bytes;
}

std::vector<folder_entry> contents::sandboxes_of(const caller& who) const
{
    std::vector<folder_entry> all;
    for (const auto& each : folders_.sandboxes().list(who)) all.push_back({each.name, each.last_used, {}, true});
    return all;
}

// Hidden files are left out, as by Jupyter.
awaitable<std::vector<folder_entry>> contents::listed(place folder) const
{
    file_list_request what;
    what.path = std::move(folder.inside);
    what.limit = most_listed;
    what.page_bytes = most_bytes_listed;
    auto page = co_await files_.list(std::move(folder.where), std::move(what));
    std::vector<folder_entry> all;
    for (auto& each : page.entries)
        if (!each.name.starts_with('.') && (each.type == "file" || each.type == "directory"))
            all.push_back({std::move(each.name), each.modified, each.size, each.type == "directory"});
    co_return all;
}

awaitable<std::string> contents::get(caller who, std::string path, wanted_content wanted) const
{
    path = trimmed_path(path);
    const bool lists_sandboxes = folders::lists_sandboxes(path);
    place at{{}, path, "."};
    entry seen{true, true, 0, sandbox_manager::now()};
    if (!lists_sandboxes) {
        at = co_await folders_.find(who, path);
        seen = co_await look(at);
    }
    if (!seen.there) throw no_file(path);
    check_type(wanted.type, path, seen.is_folder);
    auto model = model_of(path, wanted.type.empty() ? type_by_name(path, seen.is_folder) : wanted.type, seen.modified);
    if (!seen.is_folder) model["size"] = seen.size;
    if (!wanted.content) co_return jsonrpc::write_json(model);
    const auto owner = who.principal;
    if (seen.is_folder) {
        std::vector<folder_entry> all;
        if (lists_sandboxes)
            all = sandboxes_of(who);
        else
            all = co_await listed(at);
        if (path.empty()) {  // a folder of this name is below sandboxes/default
            std::erase_if(all, [](const auto& each) { return each.name == folders::of_sandboxes; });
            all.push_back({std::string(folders::of_sandboxes), sandbox_manager::now(), {}, true});
        }
        const auto size = all.size() * bytes_of_entry;
        auto work = [model = std::move(model), all = std::move(all), folder = at.path] {
            return list_model(model, all, folder);
        };
        auto text = co_await by_size(pool_, owner, size, std::move(work));
        co_return text;
    }
    auto bytes = co_await bytes_of(std::move(at));
    const auto size = bytes.size();
    auto work = [model = std::move(model), bytes = std::move(bytes), format = std::move(wanted.format)] {
        return model.at("type") == "notebook" ? notebook_model(model, bytes) : file_model(model, bytes, format);
    };
    auto text = co_await by_size(pool_, owner, size, std::move(work));
    co_return text;
}

}  // namespace cmcp::jupyter
