// Settings: sandboxes, with their networks, kernels, shells, packages and ports. What a row means:
// config/setting_types.hpp.

TOPIC("Sandboxes and packages");
SETTING("SANDBOX_DEFAULT_IMAGE", std::string, sandbox_default_image, "", plain_text(),
        "image of a sandbox made without one; empty: native", "docker.default_image");
SETTING("SANDBOX_IMAGES", words, sandbox_images,
        "native,alpine:latest=native,python-sandbox:latest=native,python:3.12-alpine=native,node:20-slim=native",
        image_list,
        "images that sandboxes may have; * for any; with =native this machine's programs stand in until the image is "
        "added");
SETTING("SANDBOX_IMAGE_MAX_MB", std::uint64_t, sandbox_image_max_size, "10240", number(1, terabyte, mib),
        "largest image, fetched and unpacked, MiB");
SETTING("SANDBOX_IMAGE_PULL", words, sandbox_image_pull, "", word_list,
        "images that are fetched from their registry when a sandbox asks for them, * for any text; empty: none");
SETTING("SANDBOX_IMAGE_STORE_MB", std::uint64_t, sandbox_image_store_size, "20480", number(1, terabyte, mib),
        "size of the image store above which no further image is fetched, MiB");
SETTING("SANDBOX_OPEN_MOUNT_DIRECTORY", bool, sandbox_open_mount, "false", flag,
        "show the folder of a sandbox on this machine in results", "docker.open_mount_directory");
SETTING("SANDBOX_WORK_DIR", std::string, sandbox_work_dir, "/app/results", absolute_path,
        "working folder inside a sandbox", "docker.container_work_dir");
SETTING("SANDBOX_NETWORK", words, sandbox_network, "none", live(host_list),
        "hosts that the programs of a sandbox reach when it is made without a network of its own: example.com, "
        "*.example.com, host:port, !host; none: no network");
SETTING("SANDBOX_NETWORK_ALLOWED", words, sandbox_network_allowed, "", live(host_list),
        "hosts that sandboxes may be given, in the same form; empty: those of SANDBOX_NETWORK");
SETTING("SANDBOX_NETWORK_PRIVATE", words, sandbox_network_private, "", live(host_list),
        "non-public hosts and addresses among the allowed ones that sandboxes may reach");
SETTING("SANDBOX_NETWORK_MAX_MB", std::uint64_t, sandbox_network_bytes, "4096", number(1, terabyte, mib),
        "traffic of a sandbox's programs until it stops, MiB");
SETTING("SANDBOX_NETWORK_ASK", milliseconds, sandbox_network_ask, "60", live(seconds(0ms, 3600s)),
        "seconds that a connection waits for the client's answer, where a sandbox's network asks; 0: nothing is asked");
SETTING("SANDBOX_TOOLS", words, sandbox_tools, "read-only", live(word_list),
        "tools that the programs of a sandbox may call: names, patterns with *, !name, read-only (those that change "
        "nothing and reach nothing outside of the server), all; none: no tools. A web tool that is named here still "
        "reaches only what the sandbox's own network reaches: SANDBOX_TOOLS_REACH_OUT opens more");
SETTING(
    "SANDBOX_TOOLS_REACH_OUT", words, sandbox_tools_reach_out, "none", live(reach_out_list),
    "what tools that the programs of a sandbox call may reach beyond it: network (the web, package indexes and other "
    "MCP servers by the server's own rules, past the network of the sandbox), sandboxes (the caller's others), "
    "workspace (the caller's default one); none: the sandbox alone");
SETTING("SANDBOX_IDLE_TIMEOUT", milliseconds, sandbox_idle_timeout, "1800", seconds(1s, 365 * day),
        "seconds after which an unused sandbox is stopped");
SETTING("SANDBOX_TTL", milliseconds, sandbox_ttl, "2592000", seconds(1s, 3650 * day),
        "seconds after which an unused sandbox is deleted");
SETTING("SANDBOX_MAX_LIVE", std::size_t, max_live_sandboxes, "64", number(1, 10'000),
        "sandboxes at once that have processes or a /tmp; one caller has at most half. The longest unused one without "
        "programs gives way to another. As many Python kernels, and as many shells, live at once");
SETTING("SANDBOX_DISK_QUOTA", std::uint64_t, sandbox_disk_quota, "10240", number(1, terabyte, mib),
        "disk of one caller's sandboxes together, MiB");
SETTING("SANDBOX_UPLOAD_FOLDER", path, sandbox_upload_folder, "volume/data", file_path,
        "folder that local_file_path is taken from; empty: none");
SETTING("SANDBOX_DATA_FOLDER", path, sandbox_data_folder, "volume/data", file_path,
        "folder whose files all runs read at /data; the default counts where it is there; empty: none");
SETTING("SANDBOX_LINK_TTL", milliseconds, link_ttl, "86400", seconds(60s, 365 * day),
        "time for which links to files open in a browser without a token, and the most that one to a shown port can "
        "ask for, seconds");
SETTING("SANDBOX_KERNEL_MEMORY", std::uint64_t, kernel_memory_limit, "512", number(32, terabyte, mib),
        "memory of a Python kernel, MiB; a live sandbox has this and SANDBOX_MEMORY_LIMIT for all that goes on in it");
SETTING("PYPI_INDEX_URL", std::string, pypi_index_url, "", url(),
        "where packages are installed from; empty: pip's own index", "mirror.pypi_index_url");
SETTING("PYPI_HOSTS", words, pypi_hosts, "", host_list, "further hosts that PYPI_INDEX_URL takes packages from");
SETTING("PYPI_ALLOW_SOURCE", bool, pypi_allow_source, "false", flag,
        "install packages that must be built, too, not only wheels");
SETTING("NPM_REGISTRY_URL", std::string, npm_registry_url, "", url(),
        "where npm packages are installed from; empty: npm's own registry");
SETTING(
    "MCP_PREVIEW_DOMAIN", std::string, preview_domain, "", preview_domain,
    "domain whose subdomains lead to this server, where each shown port has an origin of its own; empty: paths of the "
    "server's own origin");
