#include "async/sized_work.hpp"
#include "files/file_error.hpp"
#include "files/file_operations.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "jupyter/contents.hpp"
#include "jupyter/file_entry.hpp"
#include "jupyter/notebook_text.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>

#include <utility>

// The part of contents that changes files.
namespace cmcp::jupyter {

namespace {

constexpr std::string_view empty_notebook = R"({"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5})";
constexpr std::string_view checkpoint_folder = ".ipynb_checkpoints";

void refuse_list(std::string_view path)
{
    if (path.empty() || folders::lists_sandboxes(path) || folder_of(path) == folders::of_sandboxes)
        throw http_refusal(400, "This folder is a list of sandboxes: choose a path inside of a sandbox.");
}

// The bytes that the text of a content stands for.
std::string bytes_in(const json::object& model, std::optional<std::string_view> text)
{
    if (!text) throw http_refusal(400, "The model has no content.");
    if (view_of(model, "type") == "notebook") return indented_json(*text);
    const auto content = text->starts_with('"') ? jsonrpc::read_value(*text) : std::nullopt;
    if (!content) throw http_refusal(400, "content must be text for type file.");
    if (view_of(model, "format") != "base64") return std::string(content->get_string());
    auto decoded = decode_content(content->get_string());
    if (!decoded.problem.empty()) throw http_refusal(400, "content " + decoded.problem + ", which format says.");
    return std::move(decoded.bytes);
}

// b.ipynb → b and .ipynb
std::pair<std::string, std::string> stem_and_ending(std::string_view name)
{
    const auto dot = std::min(name.rfind('.'), name.size());
    return {std::string(name.substr(0, dot)), std::string(name.substr(dot))};
}

// a/b.ipynb → a/.ipynb_checkpoints/b-checkpoint.ipynb
std::string checkpoint_of(std::string_view path)
{
    const auto [stem, ending] = stem_and_ending(name_in(path));
    return joined(joined(folder_of(path), checkpoint_folder), stem + "-checkpoint" + ending);
}

place beside(place at, std::string (*other)(std::string_view))
{
    at.path = other(at.path);
    at.inside = other(at.inside);
    return at;
}

json::object checkpoint_model(double modified) { return {{"id", checkpoint_id}, {"last_modified", time_of(modified)}}; }

struct untitled {
    std::string stem, ending, between;
};

untitled new_name(const json::object& wish)
{
    const auto type = view_of(wish, "type");
    if (type == "directory") return {"Untitled Folder", "", " "};
    if (type == "notebook") return {"Untitled", ".ipynb", ""};
    std::string ending = text_of(wish, "ext");
    if (ending.empty()) ending = type.empty() ? ".ipynb" : ".txt";
    return {ending == ".ipynb" ? "Untitled" : "untitled", std::move(ending), ""};
}

untitled copied_name(std::string_view from)
{
    auto [stem, ending] = stem_and_ending(name_in(from));
    return {stem + "-Copy1", std::move(ending), "-"};
}

}  // namespace

// No value is made of a content but a text, because a notebook's would take many times its memory.
stored_model read_stored(std::string_view body)
{
    constexpr std::size_t longest_word = 100;
    if (!jsonrpc::is_object_text(body))
        throw http_refusal(400, "The body is no JSON object: send a model with type and content.");
    json::object model;
    std::optional<std::string_view> content;
    for_each_member(body, [&](std::string_view name, std::string_view value) {
        if (name == "\"content\"") content = value;
        for (const std::string_view word : {"type", "format", "chunk"})
            if (name.size() == word.size() + 2 && name.substr(1, word.size()) == word && value.size() <= longest_word)
                model[word] = jsonrpc::read_value(value).value_or(nullptr);
    });
    stored_model read{text_of(model, "type"), {}, {}};
    if (model.contains("chunk")) {
        if (read.type != "file") throw http_refusal(400, "Only a model of type file is sent in chunks.");
        read.chunk = number_of(model, "chunk");
    }
    if (read.type != "directory") read.bytes = bytes_in(model, content);
    return read;
}

awaitable<> contents::store(place at, std::string bytes) const
{
    caller who;
    who.principal = at.where.owner;
    folders_.sandboxes().hold(who, at.where);  // from now on its files are somebody's
    co_await files_.put(std::move(at.where), std::move(at.inside), std::move(bytes));
}

awaitable<> contents::make_folder(place at) const
{
    auto work = [inside = at.inside + "/."](const file_root& root) { root.make_parent(file_path("path", inside)); };
    co_await in_workspace(pool_, folders_.sandboxes(), std::move(at.where), std::move(work));
}

awaitable<std::string> contents::model_after(place at) const
{
    const auto seen = co_await look(at);
    auto model = model_of(at.path, type_by_name(at.path, seen.is_folder), seen.modified);
    if (!seen.is_folder) model["size"] = seen.size;
    co_return jsonrpc::write_json(model);
}

awaitable<std::pair<std::string, bool>> contents::put(caller who, std::string path, std::string body) const
{
    path = trimmed_path(path);
    refuse_list(path);
    const auto size = body.size();
    auto work = [body = std::move(body)] { return read_stored(body); };
    auto model = co_await by_size(pool_, who.principal, size, std::move(work));
    if (model.chunk) {
        auto stored = co_await put_chunk(std::move(who), std::move(path), std::move(model));
        co_return stored;
    }
    auto at = co_await folders_.find(std::move(who), path);
    const auto before = co_await look(at);
    if (model.type == "directory") {
        co_await make_folder(at);
    } else {
        co_await store(at, std::move(model.bytes));
    }
    auto after = co_await model_after(std::move(at));
    co_return std::pair(std::move(after), !before.there);
}

// A file that is not complete has no name yet.
awaitable<std::pair<std::string, bool>> contents::put_chunk(caller who, std::string path, stored_model model) const
{
    const auto number = *model.chunk;
    auto at = co_await folders_.find(who, path);
    folders_.sandboxes().hold(who, at.where);
    const auto before = co_await look(at);
    const auto size = co_await uploads_.put(std::move(who), at, number, std::move(model.bytes));
    if (number == chunked_uploads::last) {
        auto after = co_await model_after(std::move(at));
        co_return std::pair(std::move(after), !before.there);
    }
    auto so_far = model_of(at.path, "file", sandbox_manager::now());
    so_far["size"] = size;
    co_return std::pair(jsonrpc::write_json(so_far), false);
}

awaitable<place> contents::free_place(place folder, std::string stem, std::string ending, std::string between) const
{
    const place in = folder;
    for (unsigned number = 0;; ++number) {
        const auto name = stem + (number == 0 ? "" : between + std::to_string(number)) + ending;
        folder.path = joined(in.path, name);
        folder.inside = in.inside == "." ? name : joined(in.inside, name);
        const auto seen = co_await look(folder);
        if (!seen.there) co_return folder;
    }
}

awaitable<std::string> contents::make(caller who, std::string folder, json::object wish) const
{
    folder = trimmed_path(folder);
    if (folders::lists_sandboxes(folder)) refuse_list(folder);
    const auto copied = text_of(wish, "copy_from");
    auto name = copied.empty() ? new_name(wish) : copied_name(trimmed_path(copied));
    std::string bytes(name.ending == ".ipynb" ? indented_json(empty_notebook) : std::string());
    if (!copied.empty()) {
        auto source = co_await existing(who, copied);
        bytes = co_await bytes_of(std::move(source));
    }
    auto in = co_await folders_.find(std::move(who), std::move(folder));
    auto at = co_await free_place(std::move(in), name.stem, name.ending, name.between);
    if (view_of(wish, "type") == "directory") {
        co_await make_folder(at);
    } else {
        co_await store(at, std::move(bytes));
    }
    auto model = co_await model_after(std::move(at));
    co_return model;
}

awaitable<std::string> contents::rename(caller who, std::string path, std::string to) const
{
    path = trimmed_path(path);
    to = trimmed_path(to);
    refuse_list(path);
    refuse_list(to);
    auto at = co_await existing(who, path);
    auto goal = co_await folders_.find(std::move(who), std::move(to));
    if (goal.where.id != at.where.id)
        throw http_refusal(400, "A file stays in its sandbox: copy it with copy_from, and delete it here.");
    const auto there = co_await look(goal);
    if (there.there && at.inside != goal.inside) throw http_refusal(409, "There is a file " + goal.path + " already.");
    file_move_request what{at.inside, goal.inside, false};
    auto move = [what, policy = files_.any_extension()](const file_root& root) { move_file(root, policy, what); };
    if (at.inside != goal.inside) co_await in_workspace(pool_, folders_.sandboxes(), at.where, std::move(move));
    auto model = co_await model_after(std::move(goal));
    co_return model;
}

// A folder goes in one step to a hidden name of the workspace's own, because its path may lead over links.
awaitable<> contents::remove(caller who, std::string path) const
{
    path = trimmed_path(path);
    refuse_list(path);
    auto at = co_await existing(std::move(who), path);
    const auto seen = co_await look(at);
    const std::string gone = ".removed-" + random_id(8);
    auto work = [inside = at.inside, gone, folder = seen.is_folder,
                 policy = files_.any_extension()](const file_root& root) {
        if (folder)
            move_file(root, policy, {inside, gone, false});
        else
            delete_file(root, policy, file_path("path", inside));
    };
    co_await in_workspace(pool_, folders_.sandboxes(), at.where, std::move(work));
    auto& sandboxes = folders_.sandboxes();
    if (seen.is_folder) sandboxes.remove_soon(at.where.owner, sandboxes.places().files(at.where) / gone);
    sandboxes.measure_soon(at.where);
}

awaitable<json::array> contents::checkpoints(caller who, std::string path) const
{
    auto at = co_await existing(std::move(who), std::move(path));
    const auto kept = co_await look(beside(std::move(at), checkpoint_of));
    json::array all;
    if (kept.there) all.push_back(checkpoint_model(kept.modified));
    co_return all;
}

awaitable<json::object> contents::keep(caller who, std::string path) const
{
    auto at = co_await existing(std::move(who), std::move(path));
    auto bytes = co_await bytes_of(at);
    at = beside(std::move(at), checkpoint_of);
    co_await store(at, std::move(bytes));
    const auto kept = co_await look(std::move(at));
    co_return checkpoint_model(kept.modified);
}

awaitable<> contents::restore(caller who, std::string path) const
{
    auto at = co_await existing(std::move(who), std::move(path));
    auto bytes = co_await bytes_of(beside(at, checkpoint_of));
    co_await store(std::move(at), std::move(bytes));
}

awaitable<> contents::remove_checkpoint(caller who, std::string path) const
{
    auto at = co_await existing(std::move(who), std::move(path));
    auto work = [kept = checkpoint_of(at.inside), policy = files_.any_extension()](const file_root& root) {
        delete_file(root, policy, file_path("path", kept));
    };
    co_await in_workspace(pool_, folders_.sandboxes(), std::move(at.where), std::move(work));
}

}  // namespace cmcp::jupyter
