#include "tools/described_tool.hpp"
#include "tools/file_places.hpp"

namespace cmcp {
namespace {

struct file_edit_input : sandbox_input, file_edit_request {};

awaitable<tool_result> process_file_edit(file_places places, tool_context& context, file_edit_input input)
{
    const std::string path = input.path, sandbox = input.sandbox_id;
    file_edit_request request = std::move(input);
    const auto edited = co_await places.edit(context.who, sandbox, std::move(request));
    co_return answer_of({{"success", true}, {"path", path}, {"replaced", edited.replaced}, {"diff", edited.diff}});
}

fields<text_edit> edit_fields()
{
    using input = text_edit;
    return {{"old_text", &input::old_text, "", rule::required},
            {"new_text", &input::new_text, "", rule::required},
            {"replace_all", &input::replace_all, "", rule::with_default}};
}

}  // namespace

tool_owner make_file_edit(const file_places& places)
{
    using input = file_edit_input;
    const json::value example = json::array{json::object{{"old_text", "color = red"}, {"new_text", "color = blue"}}};
    return make_tool<input>(
        {.about = {.name = "file_edit",
                   .title = "Edit a file",
                   .description =
                       "Replace text in a file: each old_text, exact and unique, becomes new_text; all edits or none.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                                    {"path", schema::string("The path of the file")},
                                                    {"replaced", schema::typed("integer", "Places that were changed")},
                                                    {"diff", schema::string("What has changed, as diff -u shows it")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "path", "replaced", "diff"}),
                   .needs = scope::files,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>(
             {{"path", &input::path, "", rule::required, rule::example("notes/a.txt")},
              {"edits", &input::edits, "", rule::items<text_edit>{"", edit_fields()}, json::object{{"minItems", 1}},
               rule::required, rule::example(example)},
              {"encoding", &input::encoding, "utf-8, latin-1, …; UTF-8 or UTF-16 is found out", rule::unlisted}}),
         .process = std::bind_front(process_file_edit, places),
         .refuse = file_refusal});
}

}  // namespace cmcp
