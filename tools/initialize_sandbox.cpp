#include "sandboxes/language_trials.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct initialize_input {
    std::string image;
};

// Its users expect that a second call gives the sandbox that there is, unless another image is wanted.
std::optional<sandbox_record> reusable(sandbox_manager& sandboxes, const caller& who, const std::string& image)
{
    try {
        const auto latest = sandboxes.latest(who);
        if (image.empty() || image == latest.image) return latest;
    } catch (const sandbox_error& none) {
        if (none.type != "StateError") throw;
    }
    return std::nullopt;
}

awaitable<tool_result> process_initialize(sandbox_manager& sandboxes, language_trials& languages, tool_context& context,
                                          initialize_input input)
{
    auto where = reusable(sandboxes, context.who, input.image);
    if (!where) {
        new_sandbox wanted;
        wanted.image = input.image;
        where = co_await sandboxes.create(context.who, std::move(wanted));
    }
    tool_result result;
    result.structured["status"] = "success";
    result.structured["container_id"] = where->id;
    result.structured["image"] = where->image;
    if (sandboxes.in_image(where->image)) co_return result;  // an image tells what it runs when it runs it
    json::array& names = result.structured["languages"].emplace_array();
    for (const auto& name : languages.working()) names.emplace_back(name);
    co_return result;
}

json::object initialize_output()
{
    return interpreter_schema(
        {{"container_id", schema::string("Handle of the sandbox, for every tool that takes sandbox_id")},
         {"image", schema::string("Image that was asked for")},
         {"languages", schema::array("What execute_code runs", schema::string(""))}},
        {"status", "container_id"});
}

}  // namespace

tool_owner make_initialize_sandbox(sandbox_manager& sandboxes, language_trials& languages)
{
    return make_tool<initialize_input>(
        {.about = {.name = "initialize_sandbox",
                   .title = "Initialize a sandbox",
                   .description = "Make a sandbox of your own, without network, in which execute_code runs. Call it "
                                  "once; while the sandbox lasts, calling it again gives the same one. stop_sandbox "
                                  "removes it.",
                   .output_schema = initialize_output(),
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"image", &initialize_input::image, "Image of the sandbox; SANDBOX_IMAGES lists what is allowed"}},
         .process = std::bind_front(process_initialize, std::ref(sandboxes), std::ref(languages)),
         .refuse = interpreter_refusal});
}

}  // namespace cmcp
