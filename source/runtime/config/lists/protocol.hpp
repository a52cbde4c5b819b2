// Settings: requests, tasks and results. What a row means: config/setting_types.hpp.

TOPIC("Limits, tasks and figures");
SETTING("MCP_TASK_AFTER", milliseconds, task_after, "10", seconds(0ms, day),
        "a run that takes longer becomes a task for clients that take tasks, seconds; 0: never by itself");
SETTING("MCP_RESULT_LIMIT", std::size_t, result_limit, "24", number(4, 1024, 1024),
        "largest result of a tool, KiB of JSON without images; max_output asks for less or more, up to 1024");
SETTING("MCP_RESULT_FORMAT", std::string, result_format, "auto", choice({"auto", "text", "json"}),
        "auto: plain text and structuredContent, JSON text for revisions without it; text: plain text alone; json: "
        "JSON text and structuredContent");

TOPIC("Files and groups of tools");
SETTING("TOOLS", words, tools, "all", word_list,
        "tools that are listed: names, patterns with * and profiles (agent, discover, interpreter, seed-a, seed-b, "
        "seed-c, all); "
        "the others stay callable by name");
