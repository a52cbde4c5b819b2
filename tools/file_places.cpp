#include "tools/file_places.hpp"

#include "files/file_error.hpp"

namespace cmcp {
namespace {

awaitable<std::string> bytes_in_sandbox(sandbox_files& files, sandbox_record where, std::string path,
                                        std::uint64_t most)
{
    const auto file = co_await files.download(std::move(where), std::move(path));
    if (file->size() > most) throw file_error("path: the file is larger than FILE_MAX_SIZE_MB allows.");
    auto bytes = co_await file->read(0, file->size());
    co_return bytes;
}

awaitable<file_matches> search_workspace(file_searcher& by, file_manager& files, caller who, file_search_request what,
                                         std::size_t room)
{
    const auto use = co_await files.enter(who, what.path);
    auto folder = co_await files.workspace(who);
    auto matches = co_await by.search(who.principal, std::move(folder), std::move(what), room);
    co_return matches;
}

}  // namespace

awaitable<file_matches> file_places::search(file_searcher& by, const caller& who, const std::string& sandbox,
                                            file_search_request what, std::size_t room) const
{
    const auto where = find(who, sandbox);
    if (!where) return search_workspace(by, files_, who, std::move(what), room);
    what.path = inside_.files->relative("path", what.path);
    auto folder = inside_.sandboxes->places().workspace(where->id);
    auto work = by.search(where->owner, std::move(folder), std::move(what), room);
    return sandbox_activities::run(inside_.sandboxes->enter(*where), std::move(work));
}

std::optional<sandbox_record> file_places::find(const caller& who, const std::string& sandbox) const
{
    if (sandbox.empty() && may_use(who, sandbox)) return std::nullopt;
    if (inside_.files == nullptr)
        throw sandbox_error("NotAvailable", "There are no sandboxes here: TOOLS_ENABLE_SANDBOX is false.");
    return inside_.sandboxes->find(who, sandbox.empty() ? who.code->sandbox : sandbox);
}

awaitable<file_content> file_places::read(const caller& who, const std::string& sandbox, file_read_request what) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.read(who, std::move(what));
    return inside_.files->read(std::move(*where), std::move(what));
}

awaitable<> file_places::write(const caller& who, const std::string& sandbox, file_write_request what) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.write(who, std::move(what));
    return inside_.files->write(std::move(*where), std::move(what));
}

awaitable<file_page> file_places::list(const caller& who, const std::string& sandbox, file_list_request what) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.list(who, std::move(what));
    return inside_.files->list(std::move(*where), std::move(what));
}

awaitable<> file_places::remove(const caller& who, const std::string& sandbox, std::string path) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.remove(who, std::move(path));
    return inside_.files->remove(std::move(*where), std::move(path));
}

awaitable<> file_places::move(const caller& who, const std::string& sandbox, file_move_request what) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.move(who, std::move(what));
    return inside_.files->move(std::move(*where), std::move(what));
}

awaitable<edited_file> file_places::edit(const caller& who, const std::string& sandbox, file_edit_request what) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.edit(who, std::move(what));
    return inside_.files->edit(std::move(*where), std::move(what));
}

awaitable<std::string> file_places::bytes(const caller& who, const std::string& sandbox, std::string path) const
{
    auto where = find(who, sandbox);
    if (!where) return files_.bytes(who, std::move(path));
    return bytes_in_sandbox(*inside_.files, std::move(*where), std::move(path), files_.policy().max_size());
}

}  // namespace cmcp
