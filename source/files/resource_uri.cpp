#include "files/resource_uri.hpp"

#include "files/file_error.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <boost/url/decode_view.hpp>
#include <boost/url/pct_string_view.hpp>

#include <utility>

namespace cmcp {

std::optional<std::string> decoded_uri_part(std::string_view text)
{
    const auto valid = boost::urls::make_pct_string_view(text);
    if (!valid) return std::nullopt;
    const auto bytes = **valid;
    return std::string(bytes.begin(), bytes.end());
}

json::array one_template(std::string_view uri, std::string_view name, std::string_view title,
                         std::string_view description)
{
    json::object made;
    made["uriTemplate"] = uri;
    made["name"] = name;
    made["title"] = title;
    made["description"] = description;
    json::array all;
    all.push_back(std::move(made));
    return all;
}

awaitable<std::optional<json::array>> contents_of(awaitable<std::optional<json::object>> work, std::string uri)
{
    std::string refusal;
    try {
        auto found = co_await std::move(work);
        if (!found) co_return std::nullopt;
        (*found)["uri"] = std::move(uri);
        json::array all;
        all.push_back(std::move(*found));
        co_return all;
    } catch (const file_missing&) {
        co_return std::nullopt;
    } catch (const file_error& problem) {
        refusal = problem.what();
    }
    throw rpc_error(rpc_code::invalid_params, refusal);
}

}  // namespace cmcp
