#pragma once

#include "envd/connection.hpp"

namespace cmcp::envd {

/// GET /files: the whole file, compressed where the caller takes it. Throws refusal before anything was sent.
awaitable<> send_file(connection& to);

/// POST /files: the body as a file, or each part of a form. Throws refusal.
awaitable<> receive_files(connection& from);

}  // namespace cmcp::envd
