#include "tools/file_access.hpp"

#include "config/settings.hpp"
#include "files/file_error.hpp"
#include "mcp/tool_registry.hpp"

namespace cmcp {

file_access::file_access(const file_tool_parts& parts, const tool_registry& registry)
    : files_(parts.files), sandboxes_(parts.sandboxes), registry_(registry), config_(parts.config)
{
}

file_policy file_access::policy_for(const caller& who, const sandbox_record& where) const
{
    static const auto usual = settings().file_allowed_extensions;
    const bool is_set = config_.file_allowed_extensions != usual;
    const bool is_for_agents = registry_.profiles().names_any_of(who, {"agent", "discover", "interpreter"});
    const bool holds = is_set || (where.is_default() && !who.code && !is_for_agents);
    if (!holds) return files_.any_extension();
    return {config_.file_max_size, config_.file_allowed_extensions};
}

awaitable<file_matches> file_access::search(file_searcher& by, caller who, std::string sandbox,
                                            file_search_request what, std::size_t room) const
{
    const auto where = co_await sandboxes_.use(std::move(who), std::move(sandbox));
    what.path = files_.path_in(where, "path", what.path);
    auto work = by.search(where.owner, sandboxes_.places().files(where), std::move(what), room);
    auto matches = co_await sandbox_activities::run(sandboxes_.enter(where), std::move(work));
    co_return matches;
}

awaitable<file_content> file_access::read(caller who, std::string sandbox, file_read_request what) const
{
    sandbox_record where;
    if (sandbox.empty() && sandbox_homes::is_stored_output(what.path))
        where = sandboxes_.place_of_outputs(who);
    else
        where = co_await sandboxes_.use(who, std::move(sandbox));
    auto policy = policy_for(who, where);
    auto content = co_await files_.read(std::move(where), std::move(what), std::move(policy));
    co_return content;
}

// A caller that works in another sandbox may have meant that one.
awaitable<std::string> file_access::write(caller who, std::string sandbox, file_write_request what) const
{
    const bool is_unnamed = sandbox.empty() && !who.code;
    auto where = co_await sandboxes_.use(who, std::move(sandbox));
    auto policy = policy_for(who, where);
    co_await files_.write(std::move(where), std::move(what), std::move(policy));
    if (!is_unnamed || sandboxes_.store().count(who.principal) == 0) co_return std::string();
    co_return "It is in your default sandbox; with a sandbox_id it goes to that one.";
}

awaitable<file_page> file_access::list(caller who, std::string sandbox, file_list_request what) const
{
    auto where = co_await sandboxes_.use(std::move(who), std::move(sandbox));
    auto page = co_await files_.list(std::move(where), std::move(what));
    co_return page;
}

awaitable<> file_access::remove(caller who, std::string sandbox, std::string path) const
{
    auto where = co_await sandboxes_.use(who, std::move(sandbox));
    auto policy = policy_for(who, where);
    co_await files_.remove(std::move(where), std::move(path), std::move(policy));
}

awaitable<> file_access::move(caller who, std::string sandbox, file_move_request what) const
{
    auto where = co_await sandboxes_.use(who, std::move(sandbox));
    auto policy = policy_for(who, where);
    co_await files_.move(std::move(where), std::move(what), std::move(policy));
}

awaitable<edited_file> file_access::edit(caller who, std::string sandbox, file_edit_request what) const
{
    auto where = co_await sandboxes_.use(who, std::move(sandbox));
    auto policy = policy_for(who, where);
    auto edited = co_await files_.edit(std::move(where), std::move(what), std::move(policy));
    co_return edited;
}

awaitable<std::string> file_access::bytes(caller who, std::string sandbox, std::string path) const
{
    auto where = co_await sandboxes_.use(std::move(who), std::move(sandbox));
    const auto file = co_await files_.download(std::move(where), std::move(path));
    if (file->size() > config_.file_max_size)
        throw file_error("path: the file is larger than FILE_MAX_SIZE_MB allows.");
    auto bytes = co_await file->read(0, file->size());
    co_return bytes;
}

}  // namespace cmcp
