// Settings: the web tools, and where they may go. What a row means: config/setting_types.hpp.

TOPIC("Web");
SETTING("WEB_TIMEOUT_DEFAULT", milliseconds, web_timeout_default, "30", seconds(100ms, day),
        "time of a call of a web tool, seconds");
SETTING("WEB_ALLOWED_DOMAINS", words, web_allowed_domains, "*", live(host_list),
        "hosts that the web tools may reach: example.com, *.example.com, host:port, !host; * for all");
SETTING("WEB_ALLOWED_PRIVATE", words, web_allowed_private, "", live(host_list),
        "non-public hosts and addresses that may be reached");
SETTING("WEB_MAX_SIZE_MB", std::uint64_t, web_max_size, "10", number(1, 1024, mib), "largest page, unpacked, MiB");
SETTING("WEB_CA_FILE", path, web_ca_file, "", file_path, "certificates that are trusted beside the system's (PEM)");
SETTING("WEB_SEARCH_PROVIDER", std::string, web_search_provider, "none",
        choice({"none", "searxng", "brave", "duckduckgo"}),
        "provider of web_search: searxng, brave, duckduckgo or none");
SETTING("WEB_SEARCH_URL", std::string, web_search_url, "", url(), "address of the provider; needed for searxng");
SETTING("WEB_SEARCH_KEY", std::string, web_search_key, "", secret(plain_text()),
        "key of the provider; needed for brave");
SETTING("WEB_BROWSER_PATH", std::string, web_browser_path, "", plain_text(),
        "the browser that web_browse drives; empty: Chromium in its usual places");
SETTING("WEB_BROWSER_MAX_BROWSERS", std::size_t, web_browser_max_browsers, "2", number(1, 10),
        "browsers at once, each for one caller alone");
SETTING("WEB_BROWSER_MEMORY_LIMIT", std::uint64_t, web_browser_memory_limit, "1024", number(256, terabyte, mib),
        "memory of a browser with all its pages, MiB");
SETTING("WEB_BROWSER_IDLE_TIMEOUT", milliseconds, web_browser_idle_timeout, "300", seconds(0ms, day),
        "seconds after which an idle browser ends; 0: after each page");
