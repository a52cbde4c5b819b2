#include "snapshots/snapshot_manifest.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "sealing/bad_snapshot.hpp"
#include "snapshots/chunk_cutter.hpp"
#include "text/encodings.hpp"
#include "text/handles.hpp"

#include <initializer_list>
#include <optional>
#include <stdexcept>

namespace cmcp::snapshots {

namespace {

constexpr std::int64_t manifest_format = 1;
constexpr std::size_t longest_node = 255;

[[noreturn]] void refuse_manifest(const std::string& why) { throw bad_snapshot("The manifest " + why + "."); }

const json::value& member_of(const json::object& from, std::string_view name)
{
    const json::value* member = from.if_contains(name);
    if (member == nullptr) refuse_manifest("has no \"" + std::string(name) + "\"");
    return *member;
}

std::uint64_t count_of(const json::value& value)
{
    if (value.is_uint64()) return value.get_uint64();
    if (!value.is_int64() || value.get_int64() < 0) refuse_manifest("has a number that is none or below zero");
    return static_cast<std::uint64_t>(value.get_int64());
}

std::string string_member(const json::object& from, std::string_view name)
{
    const auto& value = member_of(from, name);
    if (!value.is_string()) refuse_manifest("has a \"" + std::string(name) + "\" that is no text");
    return std::string(value.get_string());
}

std::int64_t time_member(const json::object& from, std::string_view name)
{
    const auto& value = member_of(from, name);
    if (!value.is_int64()) refuse_manifest("does not say when it was taken");
    return value.get_int64();
}

chunk_reference chunk_of(const json::value& value)
{
    const auto* pair = value.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string())
        refuse_manifest("has a chunk that is no id with a size");
    chunk_reference chunk{std::string((*pair)[0].get_string()), count_of((*pair)[1])};
    if (!is_sha256_hex(chunk.id)) refuse_manifest("has a chunk without an id of 64 digits");
    if (chunk.size == 0 || chunk.size > largest_chunk) refuse_manifest("has a chunk of a size that none has");
    return chunk;
}

std::vector<chunk_reference> chunks_of(const json::value& value)
{
    if (!value.is_array()) refuse_manifest("has no list of chunks");
    std::vector<chunk_reference> chunks;
    chunks.reserve(value.get_array().size());
    for (const auto& each : value.get_array()) chunks.push_back(chunk_of(each));
    return chunks;
}

// A later form says so by its number, so it is looked at before all else.
void check_form(const json::object& from)
{
    const auto format = number_of(from, "format");
    if (format > manifest_format) refuse_manifest("has a newer form than this version reads");
    if (format < manifest_format) refuse_manifest("is not one");
    constexpr std::size_t members = 8;
    if (from.size() != members) refuse_manifest("has other members than a manifest has");
}

void check_parts(const snapshot_manifest& manifest)
{
    std::uint64_t sum = 0;
    for (const auto& chunk : manifest.chunks) sum += chunk.size;
    if (sum != manifest.bytes) refuse_manifest("has chunks of other sizes than it says");
    if (handle_maker::node_of(manifest.handle).empty()) refuse_manifest("has no handle of a sandbox");
    if (manifest.node.empty() || manifest.node.size() > longest_node) refuse_manifest("does not say who took it");
}

std::string context_of_manifest(std::string_view handle) { return "manifest " + std::string(handle); }

}  // namespace

std::string to_text(const snapshot_manifest& manifest)
{
    json::array chunks;
    chunks.reserve(manifest.chunks.size());
    for (const auto& chunk : manifest.chunks) chunks.push_back(json::array{json::string(chunk.id), chunk.size});
    json::object text;
    text["format"] = manifest_format;
    text["handle"] = manifest.handle;
    text["taken"] = manifest.taken;
    text["node"] = manifest.node;
    text["epoch"] = manifest.epoch;
    text["bytes"] = manifest.bytes;
    text["record"] = manifest.record;
    text["chunks"] = std::move(chunks);
    return jsonrpc::write_json(text);
}

snapshot_manifest from_text(std::string_view text)
{
    if (text.size() > longest_manifest) refuse_manifest("is longer than it may be");
    const auto parts = jsonrpc::read_object(text);
    check_form(parts);
    if (!member_of(parts, "record").is_object()) refuse_manifest("has a record that is no object");
    snapshot_manifest manifest{
        string_member(parts, "handle"),      time_member(parts, "taken"),           string_member(parts, "node"),
        count_of(member_of(parts, "epoch")), chunks_of(member_of(parts, "chunks")), count_of(member_of(parts, "bytes")),
        object_of(parts, "record")};
    check_parts(manifest);
    return manifest;
}

std::string seal_manifest(const snapshot_manifest& manifest, const chunk_sealer& sealer)
{
    const auto text = to_text(manifest);
    if (text.size() > longest_manifest) throw std::runtime_error("The sandbox is too large for a snapshot.");
    return sealer.seal(context_of_manifest(manifest.handle), text);
}

snapshot_manifest open_manifest(std::string_view handle, std::string_view sealed, const chunk_sealer& sealer)
{
    auto manifest = from_text(sealer.open(context_of_manifest(handle), sealed, longest_manifest));
    if (manifest.handle != handle) refuse_manifest("is that of another sandbox");
    return manifest;
}

std::string context_of_chunk(std::string_view handle, std::string_view id)
{
    return "chunk " + std::string(handle) + " " + std::string(id);
}

}  // namespace cmcp::snapshots
