// Settings: what all parts of the server ask for. What a row means: config/setting_types.hpp.

TOPIC("Server and log");
SETTING("DEBUG", bool, debug, "false", flag, "log everything, whatever LOG_LEVEL says");
SETTING("LOG_LEVEL", std::string, log_level, "INFO", live(log_level), "DEBUG, INFO, WARNING or ERROR", "logging.level");
SETTING("LOG_FORMAT", std::string, log_format, "text", log_format, "text or json (JSON lines)",
        "logging.use_structured_format");
SETTING("LOG_FILE", path, log_file, "", file_path, "file for the log, rotated at 10 MiB; empty: stderr",
        "logging.log_file");
SETTING("SANDBOX_ROOT", path, sandbox_root, "", folder, "folder that holds the sandboxes");

TOPIC("Runs");
SETTING("WORKSPACE_PER_SESSION", bool, workspace_per_session, "false", flag,
        "a default sandbox for each session instead of one for each caller");

TOPIC("Sandboxes and packages");
SETTING("SECRETS_KEY_FILE", path, secrets_key_file, "", file_path,
        "file with the key that encrypts stored secrets, made when needed; empty: "
        "container-mcp/secrets.key in $XDG_CONFIG_HOME or ~/.config");
SETTING("SANDBOX_LINK_KEY", std::string, link_key, "", secret(plain_text(128)),
        "key that signs such links, the same on all servers of a cluster; empty: made at the first start and kept in "
        "SANDBOX_ROOT/link-key");
