#include "jobs/job.hpp"

#include "text/utf8_text.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t longest_message = 200;
constexpr std::size_t longest_label = 120;
constexpr std::size_t most_notes = 16;
constexpr std::size_t most_shown = 2048;
constexpr std::size_t most_looked_through = 32 * 1024;

// The last line with something in it, cut where a character begins.
std::string_view last_line(std::string_view text)
{
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    text = text.substr(text.find_last_of("\r\n") + 1);
    if (text.size() <= longest_message) return text;
    text = text.substr(0, longest_message);
    return text.substr(0, valid_utf8_length(text));
}

}  // namespace

std::string job_label(const std::string& text)
{
    const auto beginning = std::string_view(text).substr(0, longest_label);
    return std::string(beginning.substr(0, valid_utf8_length(beginning)));
}

job::job(job_record record, std::shared_ptr<canceller> ends, std::function<void(const std::string&)> changed)
    : record_(std::move(record)), ends_(std::move(ends)), changed_(std::move(changed))
{
}

void job::say(std::string_view message)
{
    if (ended()) return;
    if (const auto line = last_line(message); !line.empty()) record_.message = line;
    touch();
}

void job::show(std::string_view printed)
{
    // Of a long piece its end counts, and the beginning of a line that is longer is not looked for.
    if (printed.size() > most_looked_through) {
        printed = utf8_suffix(printed, most_looked_through);
        line_.clear();
    }
    newest_ += printed;
    newest_ = utf8_suffix(newest_, most_shown);
    line_ += printed;
    say(line_);
    line_.erase(0, line_.find_last_of("\r\n") + 1);
    line_.resize(last_line(line_).empty() ? 0 : std::min(line_.size(), longest_message + 1));
}

void job::note(std::string message)
{
    say(message);
    if (notes_.size() == most_notes) notes_.erase(notes_.begin());
    notes_.push_back(std::move(message));
    event_.notify();
}

void job::queue(std::size_t position)
{
    if (ended()) return;
    queue_position_ = position;
    decided_ = true;
    record_.state = position != 0 ? "queued" : "running";
    record_.message = position != 0 ? "queued at position " + std::to_string(position) : "";
    touch();
    event_.notify();
}

std::string job::unused_key(std::string key)
{
    if (!input_requests_.contains(key)) return key;
    int number = 2;
    while (input_requests_.contains(key + "-" + std::to_string(number))) ++number;
    return key + "-" + std::to_string(number);
}

json::object job::open_input_requests() const
{
    json::object open;
    for (const auto& [key, input_request] : input_requests_)
        if (!input_request.answer) open[key] = input_request.request;
    return open;
}

/// The requests of one ask(), which nobody answers any more when it ends.
struct job::open_round {
    open_round(std::shared_ptr<job> asks, json::object requests) : of(std::move(asks))
    {
        for (auto& member : requests) {
            auto key = of->unused_key(std::string(member.key()));
            of->input_requests_[key].request = std::move(member.value().as_object());
            keys.emplace(member.key(), std::move(key));
            ++of->open_;
        }
        of->asked_ = std::chrono::steady_clock::now();
        of->touch();
        of->changed_(of->record_.id);
        of->event_.notify();
    }
    open_round(const open_round&) = delete;
    open_round& operator=(const open_round&) = delete;
    ~open_round()
    {
        for (const auto& [name, key] : keys) {
            const auto unanswered = of->input_requests_.find(key);
            if (unanswered == of->input_requests_.end() || unanswered->second.answer) continue;
            of->close(unanswered->second, nullptr);
        }
    }

    std::shared_ptr<job> of;
    std::map<std::string, std::string> keys;  // as the owner sees them
};

awaitable<std::optional<json::object>> job::ask(json::object requests, event::clock::time_point limit)
{
    const open_round round(shared_from_this(), std::move(requests));
    json::object answers;
    for (const auto& [name, key] : round.keys) {
        bool in_time = true;
        while (!answered(key) && in_time) in_time = co_await event_.wait(limit);
        if (!answered(key)) co_return std::nullopt;
        answers[name] = std::move(*input_requests_.at(key).answer);
        input_requests_.at(key).answer = nullptr;
    }
    co_return answers;
}

void job::close(input_request& of, json::value answer)
{
    of.answer = std::move(answer);
    of.request.clear();
    --open_;
    touch();
    if (open_ == 0) changed_(record_.id);
    event_.notify();
}

void job::answer(const json::object& responses)
{
    if (ended()) return;
    for (const auto& member : responses) {
        const auto input_request = input_requests_.find(std::string(member.key()));
        if (input_request != input_requests_.end() && !input_request->second.answer)
            close(input_request->second, member.value().as_object());
    }
}

void job::cancel(std::string_view state, std::string_view reason)
{
    if (ended()) return;
    if (cancelled_as_.empty()) {
        cancelled_as_ = state;
        record_.message = reason;
        touch();
    }
    // The work lets go of its last reference to itself when it ends.
    const auto ends = ends_;
    if (ends) ends->cancel();
}

void job::end(job_record record)
{
    record_ = std::move(record);
    ends_.reset();
    input_requests_.clear();
    open_ = 0;
    touch();
    event_.notify();
}

}  // namespace cmcp
