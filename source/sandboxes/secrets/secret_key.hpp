#pragma once

#include <filesystem>
#include <string>

namespace cmcp {

struct server_settings;

/// SECRETS_KEY_FILE, or its default by the environment. Throws secret_error where there is no place for it, or it is in
/// SANDBOX_ROOT, where backups and whoever reads the store would find it.
std::filesystem::path secrets_key_file(const server_settings& config);

/// The key of 32 bytes that secrets are encrypted with. Throws secret_error: there is none, others may read it, or it
/// is no key.
std::string read_secrets_key(const server_settings& config);

/// Makes a key, with mode 0600, where there is none yet. A key that root makes belongs to the owner of SANDBOX_ROOT,
/// whose server reads it. Throws secret_error.
void make_secrets_key(const server_settings& config);

bool has_secrets_key(const server_settings& config);  ///< whether there is a file

}  // namespace cmcp
