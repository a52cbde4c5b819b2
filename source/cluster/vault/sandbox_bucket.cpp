#include "vault/sandbox_bucket.hpp"

#include "config/cluster_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "sealing/bad_snapshot.hpp"
#include "text/encodings.hpp"
#include "text/handles.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::string_view claims_folder = "claims/";
constexpr std::string_view manifests_folder = "manifests/";
constexpr std::string_view chunks_folder = "chunks/";
constexpr std::size_t epoch_digits = 10;  // so that keys are in the order of epochs

std::string epoch_text(std::uint64_t epoch)
{
    auto digits = std::to_string(epoch);
    return std::string(epoch_digits - std::min(epoch_digits, digits.size()), '0') + digits;
}

std::string folder_of(std::string_view kind, std::string_view handle)
{
    return std::string(kind) + std::string(handle) + "/";
}

std::string key_of(std::string_view kind, std::string_view handle, std::uint64_t epoch)
{
    return folder_of(kind, handle) + epoch_text(epoch);
}

struct object_place {
    std::string handle;
    std::uint64_t epoch = 0;
};

// claims/<handle>/<epoch> or manifests/<handle>/<epoch>; nothing: somebody else's object.
std::optional<object_place> place_of(std::string_view key)
{
    const auto kind = key.find('/');
    const auto end = key.rfind('/');
    if (kind == std::string_view::npos || kind >= end) return std::nullopt;
    const auto handle = key.substr(kind + 1, end - kind - 1);
    const auto epoch = read_number(key.substr(end + 1));
    if (!epoch || !handle_maker::may_move(handle)) return std::nullopt;
    return object_place{std::string(handle), *epoch};
}

std::map<std::string, std::uint64_t> newest_epochs(const std::vector<std::string>& keys)
{
    std::map<std::string, std::uint64_t> newest;
    for (const auto& key : keys)
        if (const auto place = place_of(key)) newest[place->handle] = std::max(newest[place->handle], place->epoch);
    return newest;
}

std::string key_bytes(const std::string& hex)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

sandbox_bucket::sandbox_bucket(asio::any_io_executor executor, const cluster_settings& config)
    : objects_(std::move(executor), object_store_options::of(config)), sealer_(key_bytes(config.snapshot_key))
{
}

awaitable<sandbox_claim> sandbox_bucket::owner_of(std::string handle)
{
    sandbox_claim owner;
    const auto keys = co_await objects_.list(folder_of(claims_folder, handle));
    for (const auto& [known, epoch] : newest_epochs(keys)) owner.epoch = epoch;
    if (handle_maker::fits("sbx", handle)) owner.node = std::string(handle_maker::node_of(handle));
    if (owner.epoch == 0) co_return owner;
    const auto text = co_await objects_.get(key_of(claims_folder, handle, owner.epoch));
    if (text) owner.node = text_of(jsonrpc::read_object(*text), "node");
    co_return owner;
}

awaitable<bool> sandbox_bucket::claim(std::string handle, sandbox_claim as)
{
    const json::object text{{"node", as.node}, {"claim", random_id(16)}};
    const bool first = co_await objects_.create(key_of(claims_folder, handle, as.epoch), jsonrpc::write_json(text));
    co_return first;
}

awaitable<std::map<std::string, sandbox_claim>> sandbox_bucket::claims(
    std::map<std::string, sandbox_claim> known, std::function<bool(const std::string& handle)> wanted)
{
    std::map<std::string, sandbox_claim> all;
    const auto keys = co_await objects_.list(std::string(claims_folder));
    for (const auto& [handle, epoch] : newest_epochs(keys)) {
        const auto before = known.find(handle);
        if (before != known.end() && before->second.epoch == epoch)
            all[handle] = before->second;
        else if (!wanted(handle))
            all[handle].epoch = epoch;
        else
            all[handle] = co_await owner_of(handle);
    }
    co_return all;
}

awaitable<std::optional<snapshots::snapshot_manifest>> sandbox_bucket::newest(std::string handle)
{
    std::optional<snapshots::snapshot_manifest> manifest;
    const auto keys = co_await objects_.list(folder_of(manifests_folder, handle));
    const auto epochs = newest_epochs(keys);
    if (epochs.empty()) co_return manifest;
    const auto sealed = co_await objects_.get(key_of(manifests_folder, handle, epochs.begin()->second));
    if (sealed) manifest = snapshots::open_manifest(handle, *sealed, sealer_);
    co_return manifest;
}

awaitable<> sandbox_bucket::put(snapshots::snapshot_manifest manifest)
{
    auto key = key_of(manifests_folder, manifest.handle, manifest.epoch);
    co_await objects_.put(std::move(key), snapshots::seal_manifest(manifest, sealer_));
}

awaitable<std::vector<std::string>> sandbox_bucket::kept_of(std::string node)
{
    std::vector<std::string> handles;
    const auto keys = co_await objects_.list(std::string(manifests_folder) + "sbx_" + node + "_");
    for (const auto& [handle, epoch] : newest_epochs(keys)) handles.push_back(handle);
    co_return handles;
}

awaitable<> sandbox_bucket::put_chunk(std::string handle, std::uint64_t epoch, std::string id, std::string sealed)
{
    auto key = key_of(chunks_folder, handle, epoch) + "/" + id;
    co_await objects_.put(std::move(key), std::move(sealed));
}

awaitable<std::string> sandbox_bucket::chunk(std::string handle, std::uint64_t epoch, std::string id)
{
    auto sealed = co_await objects_.get(key_of(chunks_folder, handle, epoch) + "/" + id);
    if (!sealed) throw snapshots::bad_snapshot("A part of the snapshot of " + handle + " is missing in the storage.");
    co_return std::move(*sealed);
}

awaitable<> sandbox_bucket::remove_chunk(std::string handle, std::uint64_t epoch, std::string id)
{
    auto key = key_of(chunks_folder, handle, epoch) + "/" + id;
    co_await objects_.remove(std::move(key));
}

awaitable<> sandbox_bucket::remove_all(std::string prefix)
{
    const auto keys = co_await objects_.list(std::move(prefix));
    for (const auto& key : keys) co_await objects_.remove(key);
}

// The manifest goes first, because without its chunks it would be a damaged one.
awaitable<> sandbox_bucket::forget(std::string handle, std::uint64_t below, bool with_claims)
{
    const auto keys = co_await objects_.list(folder_of(manifests_folder, handle));
    for (const auto& key : keys) {
        const auto place = place_of(key);
        if (!place || place->epoch >= below) continue;
        co_await objects_.remove(key);
        co_await remove_all(key_of(chunks_folder, handle, place->epoch) + "/");
    }
    if (!with_claims) co_return;
    co_await remove_all(folder_of(chunks_folder, handle));  // of a snapshot that never became whole, too
    co_await remove_all(folder_of(claims_folder, handle));
}

}  // namespace cmcp
