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

void job::queue(std::size_t place)
{
    if (ended()) return;
    place_ = place;
    decided_ = true;
    record_.state = place != 0 ? "queued" : "running";
    record_.message = place != 0 ? "queued at place " + std::to_string(place) : "";
    touch();
    event_.notify();
}

std::string job::unused_key(std::string key)
{
    if (!questions_.contains(key)) return key;
    int number = 2;
    while (questions_.contains(key + "-" + std::to_string(number))) ++number;
    return key + "-" + std::to_string(number);
}

json::object job::open_questions() const
{
    json::object open;
    for (const auto& [key, question] : questions_)
        if (!question.answer) open[key] = question.request;
    return open;
}

/// The questions of one ask(), which nobody answers any more when it ends.
struct job::open_round {
    open_round(std::shared_ptr<job> asks, json::object questions) : of(std::move(asks))
    {
        for (auto& member : questions) {
            auto key = of->unused_key(std::string(member.key()));
            of->questions_[key].request = std::move(member.value().as_object());
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
            const auto unanswered = of->questions_.find(key);
            if (unanswered == of->questions_.end() || unanswered->second.answer) continue;
            of->close(unanswered->second, nullptr);
        }
    }

    std::shared_ptr<job> of;
    std::map<std::string, std::string> keys;  // as the owner sees them
};

awaitable<std::optional<json::object>> job::ask(json::object questions, event::clock::time_point limit)
{
    const open_round round(shared_from_this(), std::move(questions));
    json::object answers;
    for (const auto& [name, key] : round.keys) {
        bool in_time = true;
        while (!answered(key) && in_time) in_time = co_await event_.wait(limit);
        if (!answered(key)) co_return std::nullopt;
        answers[name] = std::move(*questions_.at(key).answer);
        questions_.at(key).answer = nullptr;
    }
    co_return answers;
}

void job::close(question& of, json::value answer)
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
        const auto question = questions_.find(std::string(member.key()));
        if (question != questions_.end() && !question->second.answer)
            close(question->second, member.value().as_object());
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
    const auto kept = ends_;
    if (kept) kept->cancel();
}

void job::end(job_record record)
{
    record_ = std::move(record);
    ends_.reset();
    questions_.clear();
    open_ = 0;
    touch();
    event_.notify();
}

}  // namespace cmcp
