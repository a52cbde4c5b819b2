#include "tools/described_tool.hpp"
#include "tools/file_access.hpp"

namespace cmcp {
namespace {

struct file_search_input : sandbox_input, file_search_request {};

std::string note_on(const file_matches& matches, std::size_t offset, const std::string& glob)
{
    if (!matches.note.empty()) return matches.note;
    if (matches.matches == 0 && !glob.empty()) return "No line matches in the files that match " + glob + ".";
    if (matches.matches == 0) return "No line matches.";
    if (matches.text.empty()) return "There are no matches from offset " + std::to_string(offset) + " on.";
    return {};
}

awaitable<tool_result> process_file_search(file_searcher& searcher, file_access access, tool_context& context,
                                           file_search_input input)
{
    const std::string sandbox = input.sandbox_id;
    const std::size_t offset = input.offset;
    const std::string glob = input.glob;
    file_search_request request = std::move(input);
    const auto room = room_for_text(context.result_limit);
    auto matches = co_await access.search(searcher, context.who, sandbox, std::move(request), room);
    json::object answer{
        {"success", true}, {"content", matches.text}, {"matches", matches.matches}, {"files", matches.files}};
    if (matches.next_offset != 0) answer["next_offset"] = matches.next_offset;
    if (const auto note = note_on(matches, offset, glob); !note.empty()) answer["note"] = note;
    co_return answer_of(std::move(answer));
}

json::object file_search_output()
{
    return schema::output({{"success", schema::boolean("Whether the search was made")},
                           {"content", schema::string("path:line: text of each match, path-line- text around it")},
                           {"matches", schema::typed("integer", "Lines that match, of all pages")},
                           {"files", schema::typed("integer", "Files with a match")},
                           {"next_offset", schema::typed("integer", "Where to go on")},
                           {"note", schema::string("Why there may be more, or none")}},
                          {"success", "content", "matches", "files"});
}

}  // namespace

tool_owner make_file_search(file_searcher& searcher, const file_access& access)
{
    using input = file_search_input;
    return make_tool<input>(
        {.about = {.name = "file_search",
                   .title = "Search in files",
                   .description = "Search files by regular expression; .git, node_modules and the like are left out.",
                   .output_schema = file_search_output(),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input =
             with_sandbox<input>({{"pattern", &input::pattern, "", rule::required, rule::example("def \\w+_test")},
                                  {"path", &input::path, "", rule::with_default},
                                  {"glob", &input::glob, "*.{js,ts}"},
                                  {"ignore_case", &input::ignore_case, "", rule::with_default},
                                  {"context", &input::context, "Lines around", rule::between(0, 20)},
                                  {"limit", &input::limit, "Most matches", rule::between(1, 10'000), rule::unlisted},
                                  {"offset", &input::offset, "", rule::between(0, 100'000'000)},
                                  {"everything", &input::everything, "", rule::with_default, rule::unlisted}}),
         .process = std::bind_front(process_file_search, std::ref(searcher), access),
         .refuse = file_refusal});
}

}  // namespace cmcp
