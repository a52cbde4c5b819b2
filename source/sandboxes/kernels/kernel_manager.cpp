#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "kernels/kernel_ends.hpp"
#include "kernels/kernel_program.hpp"
#include "kernels/kernel_slot.hpp"
#include "log/log.hpp"
#include "packages/sandbox_packages.hpp"
#include "runs/output_collector.hpp"
#include "runs/python_run.hpp"
#include "text/words.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_install_output = 4096;

std::vector<std::string> words_under(const json::object& question, std::string_view name)
{
    std::vector<std::string> words;
    const auto* list = question.if_contains(name);
    if (list == nullptr || !list->is_array()) return words;
    for (const auto& each : list->get_array())
        if (each.is_string()) words.emplace_back(each.get_string());
    return words;
}

json::object install_answer(const package_outcome& outcome)
{
    json::object answer{{"output", outcome.run.out + outcome.run.err}};
    answer["installed"] = json::array(outcome.installed.begin(), outcome.installed.end());
    if (!outcome.problem.empty()) answer["problem"] = outcome.problem;
    return answer;
}

constexpr auto forever = std::chrono::hours(24 * 3650);

// The cause as a run outside of a kernel would name it.
sandbox::cause cause_of(const kernel_process& process, const kernel_answer& answer)
{
    if (answer.timed_out) return sandbox::cause::timeout;
    return answer.lost && process.end() ? process.end()->why : sandbox::cause::exited;
}

awaitable<sandbox::run_result> run_code(std::shared_ptr<kernel_process> process, std::string code,
                                        tool_rights::ticket right, std::chrono::milliseconds limit,
                                        kernel_questions answers, kernel_answer& answer, output_collector& output)
{
    answer = co_await process->execute(std::move(code), right.text(), output, limit, std::move(answers));
    sandbox::run_result end;
    if (answer.lost && process->end()) end = end_of_last_call(*process->end());
    end.why = cause_of(*process, answer);
    if (answer.lost) co_return end;
    end.exit_code = answer.exit;
    end.cpu = answer.cpu;
    end.peak_memory = answer.peak_memory;
    co_return end;
}

constexpr std::string_view program = "kernel";           // for its callers
constexpr auto longest_look = std::chrono::seconds(20);  // of a question about the code

bool is_cell(const json::object& message) { return message.contains("notebook"); }

constexpr std::size_t longest_account = 64 * 1024;  // of a kernel's earlier life

std::string warning(const std::string& sentence)
{
    return jsonrpc::write_json(json::object{{"name", "stderr"}, {"text", sentence + "\n"}});
}

/// Tells in words what a new kernel has of the one before.
class listener_of_new_kernel final : public kernel_listener {
public:
    using words = std::function<std::string(const json::object& earlier)>;

    listener_of_new_kernel(kernel_listener& to, words loss) : to_(to), loss_(std::move(loss)) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override { return to_.receive(from, bytes); }

    awaitable<> show(std::string kind, std::string content) override
    {
        if (kind == "earlier") {
            const auto sentence =
                content.size() > longest_account ? std::string() : loss_(jsonrpc::read_object(content));
            if (sentence.empty()) co_return;
            kind = "stream";
            content = warning(sentence);
        }
        co_await to_.show(std::move(kind), std::move(content));
    }

    std::shared_ptr<kernel_listener> after_the_end() override { return to_.after_the_end(); }
    awaitable<json::object> ask(json::object question) override { return to_.ask(std::move(question)); }

private:
    kernel_listener& to_;
    words loss_;
};

}  // namespace

using clock = event::clock;

awaitable<> kernel_manager::tell_caller(request_io& io, log_severity level, std::string sentence)
{
    json::value data = json::string(sentence);
    co_await io.log(level, std::string(program), std::move(data));
}

kernel_manager::kernel_manager(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                               sandbox_runner& runs)
    : config_(config), executor_(executor), backend_(backend), runs_(runs)
{
}

kernel_manager::~kernel_manager() = default;

std::shared_ptr<kernel_manager::kernel> kernel_manager::kernel_of(const sandbox_record& where, const std::string& name)
{
    auto& slot = kernels_[{where.id, name}];
    if (!slot) slot = std::make_shared<kernel>();
    slot->id = where.id;
    slot->name = name;
    return slot;
}

std::shared_ptr<kernel_manager::kernel> kernel_manager::living(const std::string& id) const
{
    const auto entry = kernels_.find({id, std::string()});
    if (entry == kernels_.end() || !entry->second->lives()) return nullptr;
    return entry->second;
}

// Memory and processor time are the whole kernel's, or memory that of its cell; the time is that of its life or a call.
void kernel_manager::limit(sandbox::run_request& request, std::chrono::milliseconds wall) const
{
    auto& memory = request.cell.empty() ? request.limits.memory : request.limits.process_memory;
    memory = config_.kernel_memory_limit;
    request.limits.cpu = std::chrono::ceil<std::chrono::seconds>(config_.kernel_cpu_limit);
    request.limits.wall = wall;
}

void kernel_manager::start(kernel& one, const sandbox_record& where)
{
    one.owner = where.owner;
    one.started = sandbox_manager::now();
    auto request = runs_.base(where);
    const bool is_python = one.language == kernel_language::python;
    const bool forgets = std::exchange(one.forgets, false);
    request.argv =
        is_python ? kernel_arguments(runs_.interpreter(where), config_.sandbox_work_dir, one.stored_folder(), forgets)
                  : node_kernel_arguments(config_.sandbox_work_dir);
    add_python_variables(request, python_home::sandbox);
    limit(request, std::chrono::duration_cast<std::chrono::milliseconds>(forever));
    request.label = "kernel";
    auto late = one.process ? one.process->late().take() : std::string();
    one.process = std::make_shared<kernel_process>(executor_, backend_, runs_.pool(), where.owner);
    one.process->late().put_back(std::move(late));
    one.process->start(std::move(request), is_python ? later_kernel_programs() : json::object{{"op", "programs"}});
}

awaitable<> kernel_manager::revive(std::shared_ptr<kernel> one, request_io& io, sandbox_record where)
{
    co_await runs_.sandboxes().admit_to_memory(where);
    co_await make_room(where.owner, io);
    if (one->process && one->why_ended.empty()) one->why_ended = why_ended(*one->process->end(), config_);
    start(*one, where);
    if (!one->why_ended.empty())
        co_await tell_caller(io, log_severity::notice, one->why_ended + ". Another one starts.");
}

awaitable<kernel_outcome> kernel_manager::execute(caller who, request_io& io, sandbox_record where, std::string code,
                                                  run_options options)
{
    auto work = take_turn(std::move(who), io, where, std::move(code), std::move(options));
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<kernel_outcome> kernel_manager::take_turn(caller who, request_io& io, sandbox_record where, std::string code,
                                                    run_options options)
{
    const auto one = kernel_of(where);
    const auto mine = std::make_shared<call_line::turn>(one->line);
    co_await runs_.wait_in_line(*mine, io, options, runs_.python_terms(), program);
    auto place = co_await runs_.admit(who, io, options.background);
    if (one->lives())
        one->why_ended.clear();  // it was kept, and did not end
    else
        co_await revive(one, io, where);
    auto outcome = co_await run(one, std::move(who), io, std::move(where), std::move(code), std::move(options), &place);
    co_return outcome;
}

awaitable<kernel_outcome> kernel_manager::run(std::shared_ptr<kernel> one, caller who, request_io& io,
                                              sandbox_record where, std::string code, run_options options,
                                              run_admission::slot* place)
{
    const auto process = one->process;
    kernel_outcome outcome;
    kernel_answer answer;
    auto running = run_once(process, who, io, where, std::move(code), std::move(options), place, answer);
    outcome.done = co_await runs_.scanned(std::move(who), io, std::move(where), std::move(running));
    outcome.result = std::move(answer.result);
    outcome.result_is_repr = answer.result_is_repr;
    outcome.late_output = std::move(answer.late_output);
    outcome.displays = std::move(answer.displays);
    const std::string loss = loss_before(*one, answer.earlier);
    if (answer.lost && process->end()) outcome.note = lost_note(*process->end(), config_);
    if (answer.lost && answer.timed_out) {
        one->why_ended = "The kernel was ended because its code took too long and could not be interrupted";
        outcome.note = one->why_ended + ". It starts anew with the next call; its variables are lost.";
    }
    std::string& note = outcome.done.run.note;
    if (!loss.empty()) note = note.empty() ? loss : loss + ' ' + note;
    if (!answer.left_running.empty())
        note += (note.empty() ? "" : " ") + ("Processes that the interrupted code has left running, each in a group of "
                                             "its own: " +
                                             joined(answer.left_running, ", ") + ".");
    co_return outcome;
}

awaitable<run_outcome> kernel_manager::run_once(std::shared_ptr<kernel_process> process, caller who, request_io& io,
                                                sandbox_record where, std::string code, run_options options,
                                                run_admission::slot* place, kernel_answer& answer)
{
    auto request = runs_.base(where);
    const auto time = runs_.time_of(runs_.python_terms(), where, options);
    limit(request, time);
    overtime beyond{runs_.python_terms().more_than(time, options), place, admission_key(who)};
    const auto began = clock::now();
    const auto right = runs_.sandboxes().tools().give(who, where.id);
    collected_work work = [process, code = std::move(code), right, time,
                           answers = answers_for(std::move(who), io, where), &answer](output_collector& output) {
        return run_code(process, code, right, time, answers, answer, output);
    };
    output_location kept_at{request.principal, request.workspace};
    auto outcome = co_await runs_.runs().collect(io, std::move(kept_at), options.max_output, std::move(work), &beyond);
    if (beyond.used) request.limits.wall += beyond.more;
    outcome.end.wall = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began);
    outcome.limits = request.limits;
    co_return outcome;
}

awaitable<kernel_fork> kernel_manager::fork(caller who, request_io& io, sandbox_record from, std::string name)
{
    auto work = copy(std::move(who), io, from, std::move(name), living(from.id));
    return runs_.guarded(std::move(from), std::move(work));
}

// Files are copied within the kernel's turn, so that files and variables are of one moment.
awaitable<kernel_fork> kernel_manager::copy(caller who, request_io& io, sandbox_record from, std::string name,
                                            std::shared_ptr<kernel> one)
{
    kernel_fork copied;
    std::shared_ptr<call_line::turn> mine;
    run_admission::slot place;
    if (one) {
        mine = std::make_shared<call_line::turn>(one->line);
        run_options as_a_run;
        co_await runs_.wait_in_line(*mine, io, as_a_run, runs_.python_terms(), program);
        place = co_await runs_.admit(who, io, false);
    }
    copied.where = co_await runs_.sandboxes().fork(std::move(who), from.id, std::move(name));
    if (!one || !one->lives()) co_return copied;
    auto carrying = carry(one, io, copied.where);
    copied.state = co_await runs_.guarded(copied.where, std::move(carrying));
    co_return copied;
}

awaitable<kernel_transfer> kernel_manager::carry(std::shared_ptr<kernel> from, request_io& io, sandbox_record to)
{
    const auto began = clock::now();
    const auto fresh = kernel_of(to);
    const auto mine = std::make_shared<call_line::turn>(fresh->line);
    if (!mine->has_come() || fresh->process) {
        kernel_transfer nothing;
        nothing.problem = "The new sandbox's kernel was used by another call already.";
        co_return nothing;
    }
    try {
        co_await runs_.sandboxes().admit_to_memory(to);
        co_await make_room(to.owner, io);
    } catch (const sandbox_error& refused) {
        kernel_transfer nothing;
        nothing.problem = refused.what();
        co_return nothing;
    }
    start(*fresh, to);
    auto transfer = co_await transfer_state(from->process, fresh->process, config_.python_timeout_max);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
    log::info("kernel_copied",
              {{"sandbox", to.id}, {"done", transfer.done}, {"bytes", transfer.bytes}, {"ms", took.count()}});
    co_return transfer;
}

awaitable<kernel_answer> kernel_manager::converse(caller who, request_io& io, sandbox_record where, kernel_choice which,
                                                  json::object message, std::size_t bytes, kernel_listener& to)
{
    auto work = converse_in_turn(std::move(who), io, where, std::move(which), std::move(message), bytes, to);
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<kernel_answer> kernel_manager::converse_in_turn(caller who, request_io& io, sandbox_record where,
                                                          kernel_choice which, json::object message, std::size_t bytes,
                                                          kernel_listener& to)
{
    const auto one = kernel_of(where, which.name);
    one->language = which.language;
    const auto mine = std::make_shared<call_line::turn>(one->line);
    run_options options;
    options.background = true;
    co_await runs_.wait_in_line(*mine, io, options, runs_.python_terms(), program);
    std::chrono::milliseconds limit = longest_look;
    run_admission::slot place;
    tool_rights::ticket right;
    if (is_cell(message)) {
        right = runs_.sandboxes().tools().give(who, where.id);
        message["tools"] = right.text();
        limit = runs_.python_terms().time(options);
        place = co_await runs_.admit(who, io, options.background);
    }
    if (one->lives())
        one->why_ended.clear();
    else
        co_await revive(one, io, where);
    const auto process = one->process;
    kernel& revived = *one;
    listener_of_new_kernel listener(to,
                                    [&revived](const json::object& earlier) { return loss_before(revived, earlier); });
    auto answer = co_await process->converse(std::move(message), bytes, listener, limit,
                                             answers_for(std::move(who), io, std::move(where), &to));
    one->why_ended.clear();
    if (answer.lost && process->end()) answer.reason = lost_note(*process->end(), config_);
    if (answer.timed_out && answer.reason.empty())
        answer.reason = "The code took longer than SANDBOX_JOB_TIMEOUT allows and was interrupted.";
    co_return answer;
}

kernel_questions kernel_manager::answers_for(caller who, request_io& io, sandbox_record where, kernel_listener* person)
{
    return [this, who = std::move(who), &io, where = std::move(where), person](json::object question) {
        if (person != nullptr && question.contains("input")) return person->ask(std::move(question));
        return install(who, io, where, words_under(question, "install"));
    };
}

// The call has a place among the runs, which serves the installation, too: places could all wait for each other else.
awaitable<json::object> kernel_manager::install(caller who, request_io& io, sandbox_record where,
                                                std::vector<std::string> names)
{
    json::object answer;
    if (packages_ == nullptr || names.empty()) {
        answer["problem"] = "Nothing can be installed from the kernel: use install_packages_in_sandbox.";
        co_return answer;
    }
    run_options options;
    options.has_slot = true;
    options.max_output = most_install_output;
    try {
        const auto outcome = co_await packages_->install(std::move(who), io, std::move(where), package_kind::pip,
                                                         std::move(names), std::move(options));
        answer = install_answer(outcome);
    } catch (const sandbox_error& refused) {
        answer["problem"] = refused.what();
    }
    co_return answer;
}

}  // namespace cmcp
