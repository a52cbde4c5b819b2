#include "images/image_source.hpp"

#include "images/helper_program.hpp"
#include "images/tree_manifest.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/encodings.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view registry = "docker://", folder = "dir:";
constexpr std::array fetched{registry, std::string_view("oci:"), std::string_view("oci-archive:"),
                             std::string_view("docker-archive:")};

/// A folder that goes with the object.
class passing_entry {
public:
    explicit passing_entry(const image_store& store) : path(store.make_passing()) {}
    passing_entry(const passing_entry&) = delete;
    passing_entry& operator=(const passing_entry&) = delete;
    ~passing_entry()
    {
        std::error_code left_for_later;
        fs::remove_all(path, left_for_later);
    }
    const fs::path path;
};

std::string behind(const std::string& text, std::string_view beginning)
{
    return text.starts_with(beginning) ? text.substr(beginning.size()) : std::string();
}

fs::path existing_folder(const std::string& path)
{
    std::error_code absent;
    fs::path real = fs::canonical(path, absent);
    if (absent || !fs::is_directory(real)) throw image_error(path + " is no folder that can be read.");
    return real;
}

void check_source(const image_order& order)
{
    const auto begins = [&](std::string_view kind) { return order.source.starts_with(kind); };
    if (!begins(folder) && std::none_of(fetched.begin(), fetched.end(), begins))
        throw image_error("\"" + order.source +
                          "\" names no image: use docker://NAME, oci:PATH[:TAG], oci-archive:PATH, docker-archive:PATH "
                          "or dir:PATH.");
    if (!order.insecure) return;
    const std::string host = behind(order.source, registry);
    const auto is_here = [&](std::string_view name) { return host.starts_with(name); };
    if (!is_here("127.0.0.1:") && !is_here("localhost:") && !is_here("[::1]:"))
        throw image_error("--insecure is for registries of this machine alone: docker://127.0.0.1:PORT/NAME.");
}

std::string name_for(const image_order& order)
{
    const std::string name = !order.name.empty() ? order.name : behind(order.source, registry);
    if (name.empty()) throw image_error("Say by which name sandboxes ask for it: --name NAME.");
    return image_name(name);
}

json::object read_blob(const fs::path& layout, const std::string& digest)
{
    const auto digits = image_digest(digest);
    return digits ? jsonrpc::read_object(read_text(layout / "blobs" / "sha256" / *digits)) : json::object();
}

// Of the image specification's index, manifest and configuration.
void read_facts(const fs::path& layout, image& into)
{
    const auto index = jsonrpc::read_object(read_text(layout / "index.json"));
    const auto* manifests = index.if_contains("manifests");
    if (manifests == nullptr || !manifests->is_array() || manifests->get_array().size() != 1 ||
        !manifests->get_array()[0].is_object())
        throw image_error("skopeo made no layout of one image; nothing was added.");
    const std::string digest = text_of(manifests->get_array()[0].get_object(), "digest");
    into.digest = image_digest(digest).value_or("");
    const auto manifest = read_blob(layout, digest);
    const auto whole = read_blob(layout, text_of(object_of(manifest, "config"), "digest"));
    const auto& config = object_of(whole, "config");
    into.working_dir = text_of(config, "WorkingDir");
    const auto* environment = config.if_contains("Env");
    if (environment == nullptr || !environment->is_array()) return;
    for (const auto& each : environment->get_array()) {
        const std::string pair = each.is_string() ? std::string(each.get_string()) : std::string();
        if (const auto equals = pair.find('='); equals != std::string::npos && equals != 0)
            into.environment.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
}

void begin_step(const image_order& order, const char* step)
{
    if (order.step) order.step(step);
}

// As the machine's root, too, umoci then gives every file to its own user and makes no devices.
void fetch(const image_order& order, const fs::path& passing, image& into)
{
    const fs::path layout = passing / "layout";
    helper_order copy{{"skopeo", "--tmpdir", passing.string(), "copy"}, passing, order.most_bytes};
    if (order.insecure) copy.argv.emplace_back("--src-tls-verify=false");
    copy.argv.insert(copy.argv.end(), {order.source, "oci:" + layout.string() + ":image"});
    copy.way_out = order.way_out;
    run_helper(copy);
    read_facts(layout, into);
    begin_step(order, "unpacking");
    const fs::path root = passing / image_files::root;
    run_helper({{"umoci", "raw", "unpack", "--rootless", "--image", layout.string() + ":image", root.string()},
                passing,
                order.most_bytes});
    fs::remove_all(layout);
}

void describe(const fs::path& passing, image& into)
{
    const fs::path root = passing / image_files::root;
    const auto size = settle_tree(root);
    into.bytes = size.bytes;
    into.files = size.files;
    const std::string manifest = manifest_text(describe_tree(root));
    if (into.digest.empty()) into.digest = sha256_hex(manifest);
    write_text(passing / image_files::manifest, manifest);
    write_text(passing / image_files::facts, facts_text(into));
}

}  // namespace

void prepare_to_add()
{
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
    ::umask(022);
}

added_image add_image(const image_store& store, const image_order& order)
{
    check_source(order);
    added_image added;
    added.name = name_for(order);
    added.of.source = order.source;
    begin_step(order, "waiting for other work on the store");
    const unique_fd lock = store.lock();
    store.clear_leftovers();
    const passing_entry passing(store);
    const auto before = store.find(added.name);
    if (order.source.starts_with(folder))
        copy_tree(existing_folder(behind(order.source, folder)), passing.path / image_files::root, order.most_bytes);
    else
        fetch(order, passing.path, added.of);
    begin_step(order, "describing its files");
    describe(passing.path, added.of);
    const std::string digest = added.of.digest;
    added.was_there = store.find(digest).has_value();
    if (!added.was_there) store.keep(passing.path, digest);
    store.set_name(added.name, digest);
    if (before && before->digest != digest && store.names_of(before->digest).empty()) added.nameless = before->digest;
    return added;
}

}  // namespace cmcp
