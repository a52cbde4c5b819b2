#pragma once

namespace cmcp {

class router;
class sandbox_files;

/// GET, HEAD and POST /sandbox/file: files of sandboxes, streamed both ways; parts of a file by Range. The sandbox is
/// named by sandbox_id or sandbox_name, the file by file_path, in the query; a form may name them in fields before its
/// file. `files` must outlive the routes.
void add_file_routes(router& routes, sandbox_files& files);

}  // namespace cmcp
