#include "sandboxes/language_trials.hpp"
#include "tools/interpreter_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition initialize_sandbox_definition()
{
    tool_definition made;
    made.name = "initialize_sandbox";
    made.title = "Initialize a sandbox";
    made.description =
        "Make a sandbox of your own, without network, in which execute_code runs. Call it once; while the sandbox "
        "lasts, calling it "
        "again gives the same one. stop_sandbox removes it.";
    made.input_schema =
        schema::input({{"image", schema::string("Image of the sandbox; SANDBOX_IMAGES lists what is allowed")}});
    made.output_schema = interpreter_schema(
        {{"container_id", schema::string("Handle of the sandbox, for every tool that takes sandbox_id")},
         {"image", schema::string("Image that was asked for")},
         {"languages", schema::array("What execute_code runs", schema::string(""))}},
        {"status", "container_id"});
    made.annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

class initialize_sandbox final : public interpreter_tool {
public:
    explicit initialize_sandbox(managers& all) : interpreter_tool(initialize_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto image = read_string(arguments, "image");
        auto where = reuse(context.who, image);
        if (!where) {
            new_sandbox wanted;
            wanted.image = image;
            where = co_await all_.sandboxes->create(context.who, std::move(wanted));
        }
        tool_result made;
        made.structured["status"] = "success";
        made.structured["container_id"] = where->id;
        made.structured["image"] = where->image;
        if (all_.sandboxes->in_image(where->image)) co_return made;  // what an image runs, it tells when it runs it
        json::array& names = made.structured["languages"].emplace_array();
        for (const auto& each : all_.languages->working()) names.emplace_back(each);
        co_return made;
    }

    // As its users know it: a second call gives the sandbox that there is, unless another image is wanted.
    std::optional<sandbox_record> reuse(const caller& who, const std::string& image)
    {
        try {
            const auto found = all_.sandboxes->latest(who);
            if (image.empty() || image == found.image) return found;
        } catch (const sandbox_error& none) {
            if (none.type != "StateError") throw;
        }
        return std::nullopt;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_initialize_sandbox(managers& all) { return std::make_unique<initialize_sandbox>(all); }

}  // namespace cmcp
