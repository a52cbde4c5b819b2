#include "shells/shell_manager.hpp"

#include "async/uncancelled.hpp"
#include "config/sandbox_settings.hpp"
#include "log/log.hpp"
#include "runs/python_run.hpp"
#include "shells/open_shell.hpp"
#include "shells/plain_output.hpp"
#include "shells/shell_keys.hpp"
#include "shells/shell_possible.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <limits>
#include <utility>

// The life of shells; shell_reading.cpp has how their output is read.
namespace cmcp {
namespace {

using namespace std::chrono_literals;

// The words behind the name are the program. Descriptor 3 is its input.
constexpr const char* become = "exec \"$@\"";
constexpr const char* become_with_input = "exec \"$@\" <&3 3<&-";

constexpr std::size_t longest_typing = 64 * 1024;
constexpr std::size_t most_keys = 100;
constexpr std::size_t kept_of_terminal = 4096;  // the kernel gives no more at once
constexpr std::size_t most_in_a_row = 64 * 1024;
constexpr auto pause_after_row = 10ms;  // a program that floods its terminal shall not take the server's time
constexpr auto end_of_all_shells = 10s;
constexpr auto patience_with_prompt = 1s;
constexpr auto patience_with_next_prompt = 400ms;
constexpr auto between_looks_at_prompt = 20ms;  // its modes change without a word

std::string keys_typed(const std::vector<std::string>& names, bool application)
{
    std::string keys;
    for (const auto& name : names) {
        const auto bytes = key_bytes(name, application);
        if (!bytes)
            throw sandbox_error("InvalidArgument", "There is no key \"" + name.substr(0, 40) + "\"; there are " +
                                                       std::string(known_keys) + ".");
        keys += *bytes;
    }
    return keys;
}

void check_typing(const std::string& text, const std::vector<std::string>& names)
{
    if (text.empty() && names.empty())
        throw sandbox_error("InvalidArgument", "Give text or keys: there is nothing to type.");
    if (text.size() <= longest_typing && names.size() <= most_keys) return;
    throw sandbox_error("InvalidArgument",
                        "At most " + std::to_string(longest_typing) + " bytes of text and " +
                            std::to_string(most_keys) +
                            " keys can be typed at once; put data into a file with upload_file_to_sandbox.");
}

}  // namespace

shell_manager::shell_manager(const sandbox_settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                             sandbox_runner& runs, blocking_pool& pool)
    : config_(config), executor_(executor), backend_(backend), runs_(runs), pool_(pool), tasks_(executor)
{
}

shell_manager::~shell_manager() = default;

shell_process& shell_manager::process_of(shell& of) { return *of.process; }

void shell_manager::touch(shell& used) { used.used = event::clock::now(); }

std::shared_ptr<shell_manager::shell> shell_manager::find(const caller& who, const std::string& id) const
{
    const auto entry = shells_.find(id);
    if (entry != shells_.end() && entry->second->owner == who.principal && entry->second->keeps &&
        may_use(who, entry->second->where.id))
        return entry->second;
    throw sandbox_error("NotFound", "There is no shell \"" + id.substr(0, 100) +
                                        "\"; it was closed, or ended unused, with its sandbox or by an "
                                        "administrator. shell_open makes one.");
}

std::size_t shell_manager::living() const
{
    const auto lives = [](const auto& entry) { return entry.second->process->alive(); };
    return static_cast<std::size_t>(std::count_if(shells_.begin(), shells_.end(), lives));
}

std::vector<shell_manager::summary> shell_manager::list(std::size_t most_output) const
{
    std::vector<summary> all;
    for (const auto& [id, one] : shells_) {
        if (!one->process->alive()) continue;
        const auto end = one->output.end();
        const auto newest = one->output.from(end - std::min<std::uint64_t>(end, most_output));
        all.push_back({id, one->owner, one->where.id, plain_output(newest, true).text, one->started});
    }
    return all;
}

bool shell_manager::end_shell(const std::string& id)
{
    const auto entry = shells_.find(id);
    if (entry == shells_.end() || !entry->second->process->alive()) return false;
    release(entry->second);
    return true;
}

// Shells that have ended are kept for their last output, as long as there is room.
void shell_manager::make_room(const std::string& owner)
{
    const auto of_owner = [&](const auto& entry) { return entry.second->owner == owner; };
    const auto own = static_cast<std::size_t>(std::count_if(shells_.begin(), shells_.end(), of_owner));
    auto& limits = runs_.sandboxes().limits();
    const auto most = limits.of(owner).shells;
    if (own >= most)
        std::erase_if(shells_, [&](const auto& entry) { return of_owner(entry) && !entry.second->process->alive(); });
    const auto left = static_cast<std::size_t>(std::count_if(shells_.begin(), shells_.end(), of_owner));
    if (left >= most)
        throw sandbox_error("QuotaExceeded", "As many shells are open as " +
                                                 limits.refusal_in_words(owner, &principal_limits::shells) +
                                                 "; close one with shell_close.");
    if (living() >= config_.max_shells)
        throw sandbox_error("QuotaExceeded", "As many shells are open as SANDBOX_MAX_LIVE allows (" +
                                                 std::to_string(config_.max_shells) + "); try again later.");
}

sandbox::run_request shell_manager::request_for(const sandbox_record& where, const shell_program& program) const
{
    auto request = runs_.base(where);
    become_shell(request);
    if (program.argv.empty()) {
        request.argv = {"/usr/bin/bash", "+H"};  // "!" stands for no command of before
    } else {
        request.argv = {runs_.program(where, "sh", "/usr/bin/bash"), "-c",
                        program.terminal ? become : become_with_input, "container-mcp"};
        request.argv.insert(request.argv.end(), program.argv.begin(), program.argv.end());
    }
    if (!program.terminal) request.limits.output = std::numeric_limits<std::uint64_t>::max();  // nothing is kept
    add_python_variables(request, python_home::sandbox);
    if (program.terminal) request.environment.emplace_back("TERM", "xterm-256color");
    request.environment.emplace_back("PS1", "\\w\\$ ");
    request.environment.emplace_back("HISTFILE", "/tmp/.bash_history");
    add_given_python(request);
    request.label = "shell";
    return request;
}

awaitable<std::shared_ptr<shell_manager::shell>> shell_manager::begin(caller who, sandbox_record where,
                                                                      shell_program program)
{
    auto request = request_for(where, program);
    co_await runs_.sandboxes().admit_to_memory(where);
    make_room(where.owner);
    const auto one = std::make_shared<shell>(executor_, backend_);
    one->id = runs_.sandboxes().handles().make("shl");
    one->owner = where.owner;
    one->where = where;
    one->size = program.size;
    auto right = runs_.right_for(request, who, where.id);
    if (request.tools) request.environment.emplace_back(tool_rights::variable, right.text());
    if (program.terminal)
        one->process->start(std::move(request), program.size, std::move(right));
    else
        one->process->start_plain(std::move(request), std::move(right));
    shells_[one->id] = one;
    bool opened = false;
    try {
        opened = co_await one->process->opened();
    } catch (...) {
        release(one);
        throw;
    }
    if (opened) {
        if (program.terminal) tasks_.spawn("watch shell", watch(one));
        log::info("shell_opened", {{"sandbox", where.id}});
        co_return one;
    }
    shells_.erase(one->id);
    const auto& end = one->process->end();
    throw sandbox_error("NotAvailable", end && !end->error.empty() ? end->error : "The shell could not be started.");
}

awaitable<std::shared_ptr<shell_manager::shell>> shell_manager::attach(caller who, sandbox_record where,
                                                                       shell_program program)
{
    auto entry = runs_.sandboxes().enter(where);
    auto opening = begin(std::move(who), std::move(where), std::move(program));
    auto one = co_await sandbox_activities::run(entry, std::move(opening));
    // The sandbox is in use as long as the shell is attached, and its end hangs up.
    one->activity = entry;
    // Not at once, because the signal goes with the activity.
    entry->slot().assign([this, weak = std::weak_ptr(one)](asio::cancellation_type) {
        asio::post(executor_, [this, weak] {
            if (const auto attached = weak.lock()) release(attached);
        });
    });
    co_return one;
}

void shell_manager::release(std::shared_ptr<shell> used) { tasks_.spawn("end shell", end(std::move(used))); }

awaitable<shell_view> shell_manager::open(caller who, request_io& io, sandbox_record where, sandbox::terminal_size size)
{
    const auto place = co_await runs_.admit(who, io, false);
    shell_program shell_alone{.size = size};
    auto opening = begin(std::move(who), where, std::move(shell_alone));
    const auto one = co_await runs_.guarded(std::move(where), std::move(opening));
    one->keeps = true;
    tasks_.spawn("shell output", keep_output(one));
    co_return one->view();
}

awaitable<> shell_manager::keep_output(std::shared_ptr<shell> one)
{
    asio::steady_timer pause(executor_);
    std::size_t row = 0;
    for (;;) {
        const std::string bytes = co_await one->process->read(kept_of_terminal);
        if (bytes.empty()) break;
        one->output.add(bytes);
        one->last_output = event::clock::now();
        one->changed.notify();
        row += bytes.size();
        if (row < most_in_a_row) continue;
        row = 0;
        pause.expires_after(pause_after_row);
        co_await pause.async_wait(asio::use_awaitable);
    }
    one->complete = true;
    one->changed.notify();
    runs_.sandboxes().measure_soon(one->where);
}

// Ends a shell that nobody has used for as long as an unused sandbox is kept going; forgets an ended one after the same
// time.
awaitable<> shell_manager::watch(std::shared_ptr<shell> one)
{
    for (;;) {
        const auto due = one->used + config_.sandbox_idle_timeout;
        if (one->forgotten || event::clock::now() >= due) break;
        co_await one->released.wait(due);
    }
    auto ending = end(one);
    co_await uncancelled(std::move(ending));
}

awaitable<> shell_manager::end(std::shared_ptr<shell> one)
{
    one->forgotten = true;
    one->released.notify();
    one->changed.notify();
    co_await one->process->finish();
    shells_.erase(one->id);
    one->activity.reset();
    one->gone.notify();
}

// A shell that has just been opened, or runs a command of its own, hands lines over as the terminal does, and takes
// what is in them for keys later.
awaitable<> shell_manager::await_prompt(std::shared_ptr<shell> one)
{
    const auto until = event::clock::now() + patience_with_prompt;
    for (;;) {
        const auto reader = one->process->reader();
        if (!reader.is_shell || !reader.by_line || !one->process->alive() || event::clock::now() >= until) co_return;
        co_await one->changed.wait(std::min(until, event::clock::now() + between_looks_at_prompt));
    }
}

// Until the shell asks for the next line, or a program that it has started is likely to read.
awaitable<> shell_manager::await_next_prompt(std::shared_ptr<shell> one, std::uint64_t prompts)
{
    const auto until = event::clock::now() + patience_with_next_prompt;
    while (one->output.pastes_asked() == prompts && one->process->alive() && event::clock::now() < until)
        co_await one->changed.wait(until);
}

awaitable<std::string> shell_manager::type(std::shared_ptr<shell> one, std::string text, std::vector<std::string> names)
{
    std::string note;
    for (std::size_t at = 0; at == 0 || at < text.size();) {
        const auto rest = std::string_view(text).substr(at);
        if (wants_prompt(rest)) co_await await_prompt(one);
        auto reader = one->process->reader();
        reader.takes_pastes = one->output.takes_pastes();
        reader.whole_screen = one->output.whole_screen();
        const bool steps = reader.is_shell && !reader.by_line && wants_steps(rest);
        const std::size_t length = steps ? rest.find('\n') + 1 : rest.size();
        auto typed = type_as_text(rest.substr(0, length), reader);
        note += typed.note;
        at += length;
        const bool last = at >= text.size();
        if (last) typed.bytes += keys_typed(names, one->output.application_keys());
        const auto prompts = one->output.pastes_asked();
        const bool whole = co_await one->process->type(std::move(typed.bytes));
        if (!whole && one->process->alive())
            throw sandbox_error("Busy",
                                "The program in the shell does not read what is typed; wait until it does, or send "
                                "the key ctrl-c.");
        if (last || !whole) break;
        co_await await_next_prompt(one, prompts);
    }
    co_return note;
}

awaitable<shell_view> shell_manager::send(caller who, std::string id, std::string text, std::vector<std::string> names)
{
    check_typing(text, names);
    const auto one = find(who, id);
    keys_typed(names, false);  // none is unknown
    if (!one->process->alive())
        throw sandbox_error("StateError", "The shell has ended; shell_read has the rest of its output.");
    runs_.sandboxes().tools().limit_to(who, one->where.id);  // what is typed runs with the shell's right
    auto before = one->view();
    auto typing = type(one, std::move(text), std::move(names));
    auto note = co_await within(one, std::move(typing));
    before.note = std::move(note);
    co_return before;
}

// A program draws anew after each change, so earlier ones do not matter for long.
void shell_manager::note_size(shell& of, sandbox::terminal_size size)
{
    constexpr std::size_t most_sizes = 64;
    of.size = size;
    if (!of.screen) return;
    if (of.sizes.size() == most_sizes) of.sizes.erase(of.sizes.begin());
    of.sizes.push_back({++of.size_changes, of.output.end(), size});
}

shell_view shell_manager::resize(const caller& who, const std::string& id, sandbox::terminal_size size)
{
    const auto one = find(who, id);
    touch(*one);
    one->process->resize(size);
    note_size(*one, size);
    return one->view();
}

awaitable<shell_view> shell_manager::close(caller who, std::string id)
{
    const auto one = find(who, id);
    auto ending = end(one);
    co_await uncancelled(std::move(ending));
    runs_.sandboxes().measure_soon(one->where);
    co_return one->view();
}

awaitable<> shell_manager::end_all(std::string sandbox)
{
    std::vector<std::shared_ptr<shell>> ended;
    for (const auto& [id, one] : shells_)
        if (one->where.id == sandbox) ended.push_back(one);
    for (const auto& one : ended) release(one);
    for (const auto& one : ended)
        while (shells_.contains(one->id)) co_await one->gone.wait();
}

awaitable<> shell_manager::stop()
{
    const shells all = shells_;
    for (const auto& [id, one] : all) release(one);
    while (!shells_.empty()) {
        const auto one = shells_.begin()->second;
        const bool gone = co_await one->gone.wait(event::clock::now() + end_of_all_shells);
        if (!gone) break;
    }
    tasks_.cancel_all();
    co_await tasks_.wait_idle(end_of_all_shells);
}

}  // namespace cmcp
