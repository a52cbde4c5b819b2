#include "vault/stored_state.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/read_real.hpp"
#include "jsonrpc/write_json.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "sealing/bad_snapshot.hpp"
#include "text/handles.hpp"

#include <cerrno>
#include <set>
#include <system_error>

namespace cmcp {

namespace {

namespace fs = std::filesystem;
using snapshots::chunk_reference;

json::object json_of(const stored_folder& folder)
{
    json::object text;
    text["bytes"] = folder.bytes;
    json::array& chunks = text["chunks"].emplace_array();
    for (const auto& each : folder.chunks) chunks.push_back(json::array{json::string(each.id), each.size});
    return text;
}

stored_folder folder_in(const json::object& text)
{
    stored_folder folder;
    folder.bytes = count_of(text, "bytes");
    const auto* chunks = text.if_contains("chunks");
    if (chunks == nullptr || !chunks->is_array()) return folder;
    for (const auto& each : chunks->get_array()) {
        const auto* pair = each.if_array();
        if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number()) continue;
        folder.chunks.push_back({std::string((*pair)[0].get_string()), (*pair)[1].to_number<std::uint64_t>()});
    }
    return folder;
}

json::object json_of(const std::map<std::string, stored_folder>& all)
{
    json::object text;
    for (const auto& [id, folder] : all) text[id] = json_of(folder);
    return text;
}

std::map<std::string, stored_folder> folders_in(const json::object& text)
{
    std::map<std::string, stored_folder> all;
    for (const auto& each : text)
        if (each.value().is_object() && handle_maker::fits("snp", each.key()))
            all[std::string(each.key())] = folder_in(each.value().get_object());
    return all;
}

json::object json_of(const snapshot_record& record)
{
    json::object text;
    text["id"] = record.id;
    text["name"] = record.name;
    text["created"] = record.created;
    text["disk"] = record.disk;
    return text;
}

snapshot_record snapshot_in(const json::object& text, const sandbox_record& of)
{
    snapshot_record record{text_of(text, "id"),   of.owner, of.id, text_of(text, "name"), real_of(text, "created"),
                           count_of(text, "disk")};
    if (!handle_maker::fits("snp", record.id))
        throw snapshots::bad_snapshot("The manifest of " + of.id + " has a snapshot without a handle.");
    return record;
}

sandbox_record sandbox_in(const snapshots::snapshot_manifest& manifest)
{
    const auto& text = manifest.record;
    sandbox_record about;
    about.id = manifest.handle;
    about.owner = text_of(text, "owner");
    about.name = text_of(text, "name");
    about.image = text_of(text, "image");
    if (text.contains("network")) about.network = text_of(text, "network");
    about.labels = text_of(text, "labels");
    about.terms = text_of(text, "terms");
    about.machine = flag_of(text, "machine");
    about.user = text_of(text, "user");
    about.services = text_of(text, "services");
    about.status = flag_of(text, "paused") ? "paused" : "stopped";
    const auto lease = object_of(text, "lease");
    about.lease = {real_of(lease, "ends"), real_of(lease, "length"), flag_of(lease, "deletes")};
    about.created = real_of(text, "created");
    about.last_used = real_of(text, "last_used");
    about.disk = count_of(text, "disk");
    if (!handle_maker::may_move(about.id) || about.name.empty())
        throw snapshots::bad_snapshot("The manifest of a sandbox has no record of it.");
    return about;
}

}  // namespace

std::vector<std::string> stored_state::ids() const
{
    std::set<std::string> all;
    for (const auto& each : files.chunks) all.insert(each.id);
    for (const auto& each : calls.chunks) all.insert(each.id);
    for (const auto& [id, folder] : snapshots)
        for (const auto& each : folder.chunks) all.insert(each.id);
    return {all.begin(), all.end()};
}

stored_state read_kept(const fs::path& folder_of_sandbox)
{
    stored_state state;
    const unique_fd file(
        ::open((folder_of_sandbox / stored_state::file_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return state;
    const auto text = jsonrpc::read_object(read_all(file.get()));
    state.epoch = count_of(text, "epoch");
    state.used = real_of(text, "used", -1);
    state.taken = real_of(text, "taken");
    state.etag = text_of(text, "etag");
    state.released = flag_of(text, "released");
    // Versions before called them so.
    state.files = folder_in(object_of(text, text.contains("files") ? "files" : "workspace"));
    state.snapshots = folders_in(object_of(text, "snapshots"));
    state.calls = folder_in(object_of(text, "calls"));
    return state;
}

void write_kept(const fs::path& folder_of_sandbox, const stored_state& state)
{
    json::object text;
    text["epoch"] = state.epoch;
    text["used"] = state.used;
    text["taken"] = state.taken;
    text["etag"] = state.etag;
    text["released"] = state.released;
    text["files"] = json_of(state.files);
    text["snapshots"] = json_of(state.snapshots);
    text["calls"] = json_of(state.calls);
    const auto place = folder_of_sandbox / stored_state::file_name;
    const fs::path next = place.string() + ".new";
    const unique_fd file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file || !write_all(file.get(), jsonrpc::write_json(text)) || ::rename(next.c_str(), place.c_str()) != 0)
        throw std::system_error(errno, std::generic_category(), place.string());
}

snapshots::snapshot_manifest manifest_of(const stored_record& record, const stored_state& state, std::string node)
{
    snapshots::snapshot_manifest manifest;
    manifest.handle = record.about.id;
    manifest.taken = static_cast<std::int64_t>(state.taken);
    manifest.node = std::move(node);
    manifest.epoch = state.epoch;
    manifest.chunks = state.files.chunks;
    manifest.bytes = state.files.bytes;
    auto& text = manifest.record;
    text["owner"] = record.about.owner;
    text["name"] = record.about.name;
    text["image"] = record.about.image;
    text["network"] = record.about.network;
    if (!record.about.labels.empty()) text["labels"] = record.about.labels;
    if (!record.about.terms.empty()) text["terms"] = record.about.terms;
    if (record.about.machine) text["machine"] = true;
    if (!record.about.user.empty()) text["user"] = record.about.user;
    if (record.about.is_paused()) text["paused"] = true;
    if (!record.about.services.empty()) text["services"] = record.about.services;
    if (const auto& lease = record.about.lease; lease.ends != 0)
        text["lease"] = json::object{{"ends", lease.ends}, {"length", lease.length}, {"deletes", lease.deletes}};
    text["created"] = record.about.created;
    text["last_used"] = record.about.last_used;
    text["disk"] = record.about.disk;
    text["released"] = state.released;
    json::object& packages = text["packages"].emplace_object();
    for (const auto& [name, version] : record.packages) packages[name] = version;
    json::array& all = text["snapshots"].emplace_array();
    for (const auto& each : record.snapshots) all.push_back(json_of(each));
    text["chunks_of_snapshots"] = json_of(state.snapshots);
    text["calls"] = json_of(state.calls);
    return manifest;
}

bool is_released(const snapshots::snapshot_manifest& manifest, std::uint64_t epoch)
{
    return manifest.epoch >= epoch && flag_of(manifest.record, "released");
}

stored_record record_in(const snapshots::snapshot_manifest& manifest)
{
    stored_record record;
    record.about = sandbox_in(manifest);
    for (const auto& each : object_of(manifest.record, "packages"))
        if (each.value().is_string()) record.packages[std::string(each.key())] = each.value().get_string().c_str();
    const auto* all = manifest.record.if_contains("snapshots");
    if (all == nullptr || !all->is_array()) return record;
    for (const auto& each : all->get_array())
        if (each.is_object()) record.snapshots.push_back(snapshot_in(each.get_object(), record.about));
    return record;
}

std::map<std::string, stored_folder> snapshots_in(const snapshots::snapshot_manifest& manifest)
{
    return folders_in(object_of(manifest.record, "chunks_of_snapshots"));
}

stored_folder calls_in(const snapshots::snapshot_manifest& manifest)
{
    return folder_in(object_of(manifest.record, "calls"));
}

}  // namespace cmcp
