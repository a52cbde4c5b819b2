#include "vault/sandbox_bucket.hpp"

#include "config/cluster_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "sealing/bad_snapshot.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/handles.hpp"
#include "text/number.hpp"

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

// manifests/<handle>/<epoch>; nothing: somebody else's object.
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

}  // namespace

sandbox_bucket::sandbox_bucket(asio::any_io_executor executor, const cluster_settings& config)
    : objects_(std::move(executor), object_store_options::of(config)),
      sealer_(hex_bytes(lower_case(config.snapshot_key)).value())
{
}

awaitable<std::map<std::string, sandbox_claim>> sandbox_bucket::claims_of_before()
{
    std::map<std::string, sandbox_claim> all;
    const auto keys = co_await objects_.list(std::string(claims_folder));
    for (const auto& [handle, epoch] : newest_epochs(keys)) {
        const auto text = co_await objects_.get(key_of(claims_folder, handle, epoch));
        if (text) all[handle] = {epoch, text_of(jsonrpc::read_object(*text), "node")};
    }
    co_return all;
}

awaitable<> sandbox_bucket::forget_claims_of_before() { return remove_all(std::string(claims_folder)); }

awaitable<std::map<std::string, std::uint64_t>> sandbox_bucket::newest_of_all()
{
    const auto keys = co_await objects_.list(std::string(manifests_folder));
    co_return newest_epochs(keys);
}

awaitable<std::optional<std::uint64_t>> sandbox_bucket::newest_epoch(std::string handle)
{
    const auto keys = co_await objects_.list(folder_of(manifests_folder, handle));
    const auto epochs = newest_epochs(keys);
    std::optional<std::uint64_t> newest;
    if (!epochs.empty()) newest = epochs.begin()->second;
    co_return newest;
}

awaitable<std::optional<snapshots::snapshot_manifest>> sandbox_bucket::newest(std::string handle)
{
    std::optional<snapshots::snapshot_manifest> manifest;
    const auto epoch = co_await newest_epoch(handle);
    if (!epoch) co_return manifest;
    const auto sealed = co_await objects_.get(key_of(manifests_folder, handle, *epoch));
    if (sealed) manifest = snapshots::open_manifest(handle, *sealed, sealer_);
    co_return manifest;
}

awaitable<std::string> sandbox_bucket::put(snapshots::snapshot_manifest manifest)
{
    auto key = key_of(manifests_folder, manifest.handle, manifest.epoch);
    auto etag = co_await objects_.put(std::move(key), snapshots::seal_manifest(manifest, sealer_));
    co_return etag;
}

awaitable<std::map<std::string, listed_snapshot>> sandbox_bucket::newest_of(std::string node)
{
    std::map<std::string, listed_snapshot> all;
    auto objects = co_await objects_.list_objects(std::string(manifests_folder) + "sbx_" + node + "_");
    for (auto& each : objects) {
        const auto place = place_of(each.key);
        if (!place) continue;
        auto& newest = all[place->handle];
        if (newest.etag.empty() || place->epoch >= newest.epoch) newest = {place->epoch, std::move(each.etag)};
    }
    co_return all;
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
awaitable<> sandbox_bucket::forget(std::string handle, std::uint64_t below)
{
    const auto keys = co_await objects_.list(folder_of(manifests_folder, handle));
    for (const auto& key : keys) {
        const auto place = place_of(key);
        if (!place || place->epoch >= below) continue;
        co_await objects_.remove(key);
        co_await remove_all(key_of(chunks_folder, handle, place->epoch) + "/");
    }
}

awaitable<> sandbox_bucket::forget(std::string handle)
{
    co_await remove_all(folder_of(manifests_folder, handle));
    co_await remove_all(folder_of(chunks_folder, handle));  // of a snapshot that never became whole, too
}

}  // namespace cmcp
