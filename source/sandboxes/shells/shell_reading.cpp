#include "async/sized_work.hpp"
#include "shells/open_shell.hpp"
#include "shells/plain_output.hpp"
#include "shells/shell_pattern.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <utility>

// The part of shell_manager that reads the output of shells.
namespace cmcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_text_awaited = 1000;
constexpr auto between_comparisons = 20ms;
constexpr std::size_t compared_again = 4096;  // bytes of output that may begin what is awaited
constexpr std::size_t most_for_pattern = 4096;
constexpr std::size_t weight_of_byte = 4;  // of a terminal's output, beside other text

void check_wish(const shell_wish& wish)
{
    if (wish.wait_for.size() > longest_text_awaited || wish.pattern.size() > longest_pattern)
        throw sandbox_error("InvalidArgument", "wait_for takes at most " + std::to_string(longest_text_awaited) +
                                                   " bytes, wait_for_pattern " + std::to_string(longest_pattern) +
                                                   "; wait for a short, telling part of the output.");
    if (!wish.wait_for.empty() && !wish.pattern.empty())
        throw sandbox_error("InvalidArgument", "Give wait_for or wait_for_pattern, not both.");
    if (const std::string problem = pattern_problem(wish.pattern); !problem.empty())
        throw sandbox_error("InvalidArgument", "wait_for_pattern is no regular expression: " + problem);
}

void check_cursor(std::uint64_t cursor, const screen_back& output)
{
    if (cursor <= output.end()) return;
    throw sandbox_error("InvalidArgument", "The cursor is behind the end of the output (" +
                                               std::to_string(output.end()) +
                                               "); use that of an answer of this shell, or leave it out.");
}

struct shown_piece {
    plain_piece piece;
    bool cut = false;
};

shown_piece show(std::string_view bytes, bool raw, std::size_t most, bool complete)
{
    shown_piece shown;
    shown.cut = bytes.size() > most;
    if (shown.cut) bytes = bytes.substr(0, most);
    shown.piece =
        raw ? plain_piece{replace_invalid_utf8(bytes), bytes.size()} : plain_output(bytes, complete && !shown.cut);
    if (shown.piece.used == 0 && shown.cut) shown.piece = plain_output(bytes, true);  // not even one character fits
    return shown;
}

}  // namespace

awaitable<bool> shell_manager::fits(std::string owner, std::string text, std::string pattern)
{
    auto work = [text = std::move(text), pattern = std::move(pattern)] { return matches_pattern(text, pattern); };
    auto is_there = co_await pool_.run(std::move(owner), std::move(work));
    co_return is_there;
}

awaitable<bool> shell_manager::shows(std::shared_ptr<shell> one, const shell_wish& wish, std::uint64_t from)
{
    if (one->output.end() == from) co_return false;
    std::string bytes(one->output.from(from));
    const auto cost = weight_of_byte * bytes.size();
    auto work = [bytes = std::move(bytes)] { return plain_output(bytes, true).text; };
    const std::string text = co_await by_size(pool_, one->owner, cost, std::move(work));
    if (!wish.wait_for.empty()) co_return text.find(wish.wait_for) != std::string::npos;
    std::string latest(utf8_suffix(text, most_for_pattern));
    auto is_there = co_await fits(one->owner, std::move(latest), wish.pattern);
    co_return is_there;
}

awaitable<> shell_manager::fill(std::shared_ptr<shell> one, shell_answer& answer, std::uint64_t from,
                                const shell_wish& wish)
{
    const std::uint64_t first = std::max(from, one->output.begin());
    std::string bytes(one->output.from(first));
    const auto cost = weight_of_byte * bytes.size();
    auto work = [bytes = std::move(bytes), raw = wish.raw, most = wish.max_output, complete = one->complete] {
        return show(bytes, raw, most, complete);
    };
    auto shown = co_await by_size(pool_, one->owner, cost, std::move(work));
    answer.text = std::move(shown.piece.text);
    answer.cursor = first + shown.piece.used;
    answer.lost = first - from;
    answer.more = shown.cut;
}

// Programs choose what has to be drawn, so it is drawn beside the io thread, in its owner's turn.
awaitable<> shell_manager::show_screen(std::shared_ptr<shell> one, shell_answer& answer, std::size_t most)
{
    if (!one->screen) one->screen = std::make_shared<shell_screen>(one->size);
    auto work = shell_screen::draw(one->screen, one->output.begin(), std::string(one->output.from(0)), one->sizes);
    auto picture = co_await pool_.run_long(one->owner, std::move(work));
    answer.text = utf8_prefix(picture.text, most);
    answer.cursor_row = picture.cursor_row;
    answer.cursor_column = picture.cursor_column;
}

// Output that floods is compared a bounded number of times.
awaitable<shell_answer> shell_manager::await_answer(std::shared_ptr<shell> one, shell_wish wish)
{
    const auto from = wish.cursor.value_or(one->read_until);
    check_cursor(from, one->output);
    const bool compares = !wish.wait_for.empty() || !wish.pattern.empty();
    const auto began = wish.screen ? event::clock::now() : event::clock::time_point::min();
    const auto until = event::clock::now() + wish.timeout;
    asio::steady_timer pause(executor_);
    std::uint64_t compared = 0;
    shell_answer answer;
    answer.matched = !compares;
    for (;;) {
        const auto seen = one->output.end();
        const bool over = one->complete || one->forgotten;
        if (compares) answer.matched = co_await shows(one, wish, std::max(from, compared));
        compared = seen - std::min<std::uint64_t>(seen, compared_again);
        const auto now = event::clock::now();
        const bool awaits_output = seen == from && !wish.screen;
        const auto quiet_at = awaits_output ? until : std::min(until, std::max(began, one->last_output) + wish.quiet);
        if (over || now >= until || (compares && answer.matched) || (!compares && now >= quiet_at)) break;
        const auto look_again = compares ? until : quiet_at;
        if (one->output.end() == seen && !one->complete) co_await one->changed.wait(look_again);
        if (!compares) continue;
        pause.expires_after(between_comparisons);
        co_await pause.async_wait(asio::use_awaitable);
    }
    static_cast<shell_view&>(answer) = one->view();
    if (wish.screen)
        co_await show_screen(one, answer, wish.max_output);
    else
        co_await fill(one, answer, from, wish);
    one->read_until = answer.cursor;
    co_return answer;
}

awaitable<shell_answer> shell_manager::read(caller who, std::string id, shell_wish wish)
{
    check_wish(wish);
    const auto one = find(who, id);
    auto reading = await_answer(one, std::move(wish));
    auto answer = co_await within(one, std::move(reading));
    co_return answer;
}

}  // namespace cmcp
