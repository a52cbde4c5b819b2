#include "files/file_resources.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <boost/url/decode_view.hpp>
#include <boost/url/pct_string_view.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace cmcp {

std::optional<std::string> decoded_uri_part(std::string_view text)
{
    const auto valid = boost::urls::make_pct_string_view(text);
    if (!valid) return std::nullopt;
    const auto bytes = **valid;
    return std::string(bytes.begin(), bytes.end());
}

json::object resource_template(std::string_view uri, std::string_view name, std::string_view title,
                               std::string_view description)
{
    return {{"uriTemplate", uri}, {"name", name}, {"title", title}, {"description", description}};
}

std::string how_to_read_on(std::uint64_t size, std::uint64_t next, const std::string& prefix)
{
    return "\n[... " + std::to_string(size - std::min(size, next)) + " of " + std::to_string(size) +
           " bytes left out here; read on with " + prefix + std::to_string(next) + " ...]";
}

awaitable<std::optional<json::array>> contents_of(awaitable<std::optional<json::object>> work, std::string uri)
{
    std::string refusal;
    try {
        auto contents = co_await std::move(work);
        if (!contents) co_return std::nullopt;
        (*contents)["uri"] = uri;
        json::array all;
        all.push_back(std::move(*contents));
        co_return all;
    } catch (const file_missing&) {
        co_return std::nullopt;
    } catch (const file_error& problem) {
        refusal = problem.what();
    }
    throw rpc_error(rpc_code::invalid_params, refusal);
}

std::shared_ptr<void> observe_file(file_watch& watch, std::string principal, const std::filesystem::path& folder,
                                   const std::string& path, std::function<void()> changed)
try {
    const file_path inside("uri", path);
    const file_root root(folder);
    const unique_fd parent = root.open_parent(inside);
    return watch.observe(std::move(principal), parent.get(), inside.leaf(), std::move(changed));
} catch (const file_missing&) {
    return nullptr;
} catch (const file_error& problem) {
    throw rpc_error(rpc_code::invalid_params, problem.what());
} catch (const std::system_error& problem) {
    throw rpc_error(rpc_code::server_error,
                    std::string("the file cannot be observed: ") + problem.what() +
                        "; unsubscribe from others first, or raise fs.inotify.max_user_watches");
}

}  // namespace cmcp
