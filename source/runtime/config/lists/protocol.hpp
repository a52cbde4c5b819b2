// Settings: requests, tasks and results. What a row means: config/setting_types.hpp.

TOPIC("Limits, tasks and figures");
SETTING("MCP_MAX_REQUESTS", std::size_t, max_requests_in_flight, "4096", number(1, many),
        "requests in flight in the whole server");
SETTING("MCP_MAX_REQUESTS_PER_SESSION", std::size_t, max_requests_per_session, "64", number(1, many),
        "requests in flight in one session");
SETTING("MCP_MAX_TASKS", std::size_t, max_tasks, "4096", number(1, many), "tasks that are kept, running or ended");
SETTING("MCP_CALLS_PER_MINUTE", std::uint64_t, calls_per_minute, "0", number(0, many),
        "calls of tools that one caller may make in a minute, with cells of notebooks, uploads, changes by /api and "
        "shells that it opens; 0: any number");
SETTING("MCP_MAX_TASKS_PER_CALLER", std::size_t, max_tasks_per_caller, "1024", number(1, many),
        "tasks of one caller that are kept");
SETTING("MCP_TASK_TTL", milliseconds, task_ttl, "3600", seconds(1s, 365 * day),
        "a task's result is kept so many seconds");
SETTING("MCP_TASK_AFTER", milliseconds, task_after, "10", seconds(0ms, day),
        "a run that takes longer becomes a task for clients that take tasks, seconds; 0: never by itself");
SETTING("MCP_METRICS_PRINCIPALS", std::size_t, metrics_principals, "50", number(0, 10'000),
        "principals with a label of their own at /metrics; further ones count as `other`");
SETTING("MCP_RESULT_LIMIT", std::size_t, result_limit, "24", number(4, 1024, 1024),
        "most that a result of a tool says, KiB of JSON without images; max_output asks for less or more, up to 1024");
SETTING("MCP_RESULT_FORMAT", std::string, result_format, "auto", choice({"auto", "text", "json"}),
        "auto: plain text and structuredContent, JSON text for revisions without it; text: plain text alone; json: "
        "JSON text and structuredContent");

TOPIC("Files and groups of tools");
SETTING("TOOLS", words, tools, "all", word_list,
        "tools that are listed: names, patterns with * and profiles (agent, discover, interpreter, seed-a, seed-b, "
        "seed-c, all); "
        "the others stay callable by name");
