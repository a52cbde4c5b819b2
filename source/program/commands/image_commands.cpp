#include "commands/commands.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "images/image_source.hpp"
#include "images/tree_manifest.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/act_record.hpp"
#include "text/words.hpp"

#include <iomanip>
#include <iostream>

namespace cmcp::command {

namespace {

std::string size_text(std::uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

image there(const image_store& store, const std::string& what)
{
    if (auto of = store.find(what)) return *of;
    throw config_error("there is no image " + what + "; `container-mcp image list` shows those that are there");
}

int add(const image_store& store, const image_line& line, const settings& config)
{
    const added_image added = add_image(store, {line.what, line.name, line.insecure, config.sandbox_image_max_size});
    std::cout << added.name << "  sha256:" << added.of.digest << "  " << size_text(added.of.bytes) << ", "
              << added.of.files << (added.was_there ? " files, was there already\n" : " files\n");
    if (added.nameless)
        std::cout << "the image that had this name is still there: container-mcp image remove sha256:"
                  << *added.nameless << '\n';
    return 0;
}

json::object entry_json(const image_store::entry& entry)
{
    json::object row;
    row["names"] = json::value_from(entry.names);
    row["digest"] = "sha256:" + entry.of.digest;
    row["source"] = entry.of.source;
    row["bytes"] = static_cast<std::int64_t>(entry.of.bytes);
    row["files"] = static_cast<std::int64_t>(entry.of.files);
    row["working_dir"] = entry.of.working_dir;
    return row;
}

int list(const image_store& store, bool json)
{
    json::array rows;
    for (const auto& each : store.list()) {
        if (json)
            rows.push_back(entry_json(each));
        else
            std::cout << (each.names.empty() ? "(no name)" : joined(each.names, ", ")) << "  sha256:" << each.of.digest
                      << "  " << size_text(each.of.bytes) << '\n';
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

// The other names of an image keep it.
int remove(const image_store& store, const std::string& what)
{
    const unique_fd lock = store.lock();
    store.clear_leftovers();
    const image gone = there(store, what);
    if (!image_digest(what)) store.forget_name(image_name(what));
    const auto names = store.names_of(gone.digest);
    const bool kept = !image_digest(what) && !names.empty();
    if (!kept) store.remove(gone.digest);
    if (kept)
        std::cout << "the name is gone; the image is " << joined(names, ", ") << '\n';
    else
        std::cout << "sha256:" << gone.digest << " is removed, " << size_text(gone.bytes) << '\n';
    return 0;
}

bool verify(const image& of)
{
    const auto before = read_manifest(read_text(of.root.parent_path() / image_files::manifest));
    const auto different = differences(before, describe_tree(of.root));
    std::cout << "sha256:" << of.digest << (different.empty() ? " is as it was added\n" : " has changed\n");
    for (const auto& each : different) std::cout << "  " << each << '\n';
    return different.empty();
}

int verify(const image_store& store, const std::string& what)
{
    if (!what.empty()) return verify(there(store, what)) ? 0 : 1;
    bool whole = true;
    for (const auto& each : store.list()) whole = verify(each.of) && whole;
    return whole ? 0 : 1;
}

}  // namespace

int images(const loaded_settings& loaded, const image_line& line, bool json)
{
    prepare_to_add();
    const image_store store(loaded.values.sandbox_root / "images");
    if (line.action == "add" || line.action == "remove") {
        act_record act(loaded.values, "image " + line.action);
        const int code = line.action == "add" ? add(store, line, loaded.values) : remove(store, line.what);
        act.done(line.what);
        return code;
    }
    if (line.action == "verify") return verify(store, line.what);
    return list(store, json);
}

}  // namespace cmcp::command
