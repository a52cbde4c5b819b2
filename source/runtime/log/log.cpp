#include "log/log.hpp"

#include "log/record_queue.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace cmcp::log {

namespace {

constexpr std::size_t largest_file = 10u << 20;
constexpr std::size_t old_files = 3;

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink)
{
    auto logger = std::make_shared<spdlog::logger>("container-mcp", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    return logger;
}

struct state {
    std::shared_ptr<spdlog::logger> logger = make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    std::atomic<level> threshold{level::info};
    std::atomic<bool> json_lines{false};
};

state& current()
{
    static state instance;
    return instance;
}

// Only the server's user may read the log, and no child process inherits it.
void close_to_others(const spdlog::filename_t&, std::FILE* stream)
{
    const int descriptor = fileno(stream);
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) ::fchmod(descriptor, S_IRUSR | S_IWUSR);
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

// A device or a pipe must not be renamed away by the rotation.
spdlog::sink_ptr open_file(const std::string& name)
{
    spdlog::file_event_handlers handlers;
    handlers.after_open = close_to_others;
    std::error_code ignored;
    const auto kind = std::filesystem::status(name, ignored);
    if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) {
        return std::make_shared<spdlog::sinks::basic_file_sink_mt>(name, false, handlers);
    }
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(name, largest_file, old_files, false, handlers);
}

// A file that can be opened again while other threads write.
class file_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit file_sink(std::string name) : name_(std::move(name)), file_(open_file(name_)) {}

    void reopen()
    {
        auto fresh = open_file(name_);
        fresh->set_formatter(formatter_->clone());
        const std::lock_guard only(mutex_);
        file_ = std::move(fresh);
    }

private:
    void sink_it_(const spdlog::details::log_msg& message) override { file_->log(message); }
    void flush_() override { file_->flush(); }
    void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override
    {
        file_->set_formatter(formatter->clone());
        formatter_ = std::move(formatter);
    }

    std::string name_;
    spdlog::sink_ptr file_;
};

std::shared_ptr<spdlog::logger> file_logger(const std::string& name)
{
    try {
        return make_logger(std::make_shared<file_sink>(name));
    } catch (const spdlog::spdlog_ex& e) {
        throw std::runtime_error("LOG_FILE=" + name + " cannot be written (" + e.what() +
                                 "): name a file in a writable folder");
    }
}

}  // namespace

void configure(const options& how)
{
    state& now = current();
    if (!how.file.empty()) now.logger = file_logger(std::string(how.file));
    now.threshold = how.threshold;
    now.json_lines = how.json_lines;
}

void reopen()
{
    const auto& sinks = current().logger->sinks();
    if (const auto file = std::dynamic_pointer_cast<file_sink>(sinks.front())) file->reopen();
}

void set_threshold(level l) { current().threshold = l; }

bool enabled(level l) { return l >= current().threshold.load(std::memory_order_relaxed); }

void write(level l, std::string_view event, fields with)
{
    if (!enabled(l)) return;
    state& now = current();
    const auto when = std::chrono::system_clock::now();
    if (records().is_open()) records().add(when, l, event, with);
    now.logger->log(spdlog::level::info, spdlog::string_view_t(now.json_lines ? format_json(when, l, event, with)
                                                                              : format_text(when, l, event, with)));
}

}  // namespace cmcp::log
