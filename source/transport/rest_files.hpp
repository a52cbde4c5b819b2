#pragma once

#include "http/file_gateway.hpp"
#include "http/router.hpp"

#include <map>

namespace cmcp {

/// GET, HEAD and POST /sandbox/file: files of sandboxes, streamed both ways; parts of a file by Range. The sandbox is
/// named by sandbox_id or sandbox_name, the file by file_path, in the query; a form may name them in fields before its
/// file.
class rest_files {
public:
    explicit rest_files(file_gateway& files) : files_(files) {}  ///< `files` must outlive this

    void add_routes(router& routes);

private:
    using fields = std::map<std::string, std::string>;

    awaitable<> download(exchange& x);
    awaitable<> send(exchange& x, std::unique_ptr<file_download> file);
    awaitable<> upload(exchange& x);
    awaitable<json::object> store(exchange& x);
    awaitable<json::object> store_body(exchange& x, const fields& named);
    awaitable<json::object> store_form(exchange& x, std::string boundary, fields named);
    awaitable<std::unique_ptr<file_upload>> begin(exchange& x, const fields& named,
                                                  std::optional<std::uint64_t> announced);

    file_gateway& files_;
};

}  // namespace cmcp
