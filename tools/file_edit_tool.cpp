#include "files/unified_diff.hpp"
#include "tools/described_tool.hpp"
#include "tools/file_access.hpp"

namespace cmcp {
namespace {

constexpr std::size_t part_for_a_diff = 6;  // of what a result may say: a model knows what it asked for

struct file_edit_input : sandbox_input, file_edit_request {};

awaitable<tool_result> process_file_edit(file_access access, tool_context& context, file_edit_input input)
{
    const std::string path = input.path, sandbox = input.sandbox_id;
    file_edit_request request = std::move(input);
    auto edited = co_await access.edit(context.who, sandbox, std::move(request));
    if (!context.is_program)
        edited.diff = beginning_of_diff(std::move(edited.diff), context.result_limit / part_for_a_diff);
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

tool_owner make_file_edit(const file_access& access)
{
    using input = file_edit_input;
    const json::value example = json::array{json::object{{"old_text", "color = red"}, {"new_text", "color = blue"}}};
    return make_tool<input>(
        {.about = {.name = "file_edit",
                   .title = "Edit a file",
                   .description =
                       "Replace text in a file: each old_text, exact and unique, becomes new_text; all edits or none.",
                   .output_schema =
                       schema::output({{"path", schema::string("The path of the file")},
                                       {"replaced", schema::typed("integer", "Occurrences that were replaced")},
                                       {"diff", schema::string("What has changed, as diff -u shows it")}},
                                      {"success", "path", "replaced", "diff"}),
                   .needs = scope::files,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>(
             {{"path", &input::path, "", rule::required, rule::example("notes/a.txt")},
              {"edits", &input::edits, "", rule::items<text_edit>{"", edit_fields()}, json::object{{"minItems", 1}},
               rule::required, rule::example(example)},
              {"encoding", &input::encoding, "utf-8, latin-1, …; UTF-8 or UTF-16 is found out", rule::unlisted}}),
         .process = std::bind_front(process_file_edit, access),
         .refuse = file_refusal});
}

}  // namespace cmcp
