// Settings: the record of what happened. What a row means: config/setting_types.hpp.

TOPIC("Audit");
SETTING("AUDIT", std::string, audit, "auto", choice({"auto", "on", "off"}),
        "record calls, logins, connections to the outside and acts of administration: auto where callers have names");
SETTING("AUDIT_FOLDER", path, audit_folder, "", file_path,
        "folder of the records; empty: audit in SANDBOX_ROOT. A folder outside of SANDBOX_ROOT is closed to all of the "
        "server but the thread that writes");
SETTING("AUDIT_REQUIRED", bool, audit_required, "false", flag,
        "calls are refused while they cannot be recorded, because the disk is full or gone");
SETTING("AUDIT_ARGUMENTS", std::string, audit_arguments, "digest", choice({"digest", "none"}),
        "of the arguments of calls: keep their SHA-256, or nothing");
SETTING("AUDIT_FILE_MB", std::uint64_t, audit_file_size, "64", number(1, 4096, mib),
        "size of a file of records, MiB; a day begins another one as well");
SETTING("AUDIT_KEEP", std::size_t, audit_keep, "64", number(0, many),
        "files of records that are kept; the oldest one goes when there are more; 0: all");
SETTING("AUDIT_HEADS", path, audit_heads, "", file_path,
        "file to which signed heads are appended beside the log, on another machine's disk at best; empty: none");
