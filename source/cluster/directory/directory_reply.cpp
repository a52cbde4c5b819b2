#include "directory/directory_reply.hpp"

#include <hiredis/hiredis.h>

#include <new>
#include <utility>

namespace cmcp {

std::string directory_bytes(const directory_command& command)
{
    std::vector<const char*> words;
    std::vector<std::size_t> sizes;
    for (const auto& word : command) {
        words.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* bytes = nullptr;
    const auto size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), words.data(), sizes.data());
    if (size < 0) throw std::bad_alloc();
    std::string text(bytes, static_cast<std::size_t>(size));
    redisFreeCommand(bytes);
    return text;
}

/// Makes directory_reply in place of redisReply, which would have to be copied at once when the last byte has come.
struct directory_replies::maker {
    using kind = directory_reply::kind;

    explicit maker(std::size_t elements) : most_elements(elements), left(elements)
    {
        make.createString = [](const redisReadTask* task, char* text, std::size_t size) {
            return of(task).string(task, {text, size});
        };
        make.createArray = list;  // hiredis counts elements as int or size_t, by its version
        make.createInteger = [](const redisReadTask* task, long long number) -> void* {
            auto* reply = of(task).begin(task, kind::number);
            if (reply != nullptr) reply->number = number;
            return reply;
        };
        make.createNil = [](const redisReadTask* task) -> void* { return of(task).begin(task, kind::nothing); };
        make.freeObject = [](void* reply) { delete static_cast<directory_reply*>(reply); };
        set_later_kinds(make);
    }

    // Of RESP3, which nobody asks for.
    template <class Functions>
    static void set_later_kinds(Functions& functions)
    {
        if constexpr (requires { functions.createDouble; }) {
            functions.createDouble = [](const redisReadTask* task, double, char* text, std::size_t size) {
                return of(task).string(task, {text, size});
            };
            functions.createBool = [](const redisReadTask* task, int value) {
                return of(task).string(task, value != 0 ? "1" : "0");
            };
        }
    }

    static maker& of(const redisReadTask* task) { return *static_cast<maker*>(task->privdata); }

    template <class Count>
    static void* list(const redisReadTask* task, Count elements)
    {
        auto& self = of(task);
        self.is_too_large = self.is_too_large || static_cast<std::size_t>(elements) > self.left;
        auto* reply = self.is_too_large ? nullptr : self.begin(task, kind::list);
        if (reply == nullptr) return nullptr;
        self.left -= static_cast<std::size_t>(elements);
        try {
            reply->items.resize(static_cast<std::size_t>(elements));
        } catch (const std::bad_alloc&) {
            return self.fail(task, reply);
        }
        return reply;
    }

    void* string(const redisReadTask* task, std::string_view text)
    {
        const bool is_error = task->type == REDIS_REPLY_ERROR;
        auto* reply = begin(task, is_error ? kind::error : kind::text);
        if (reply == nullptr) return nullptr;
        try {
            reply->text = is_error ? text.substr(0, limits::error_text) : text;
        } catch (const std::bad_alloc&) {
            return fail(task, reply);
        }
        return reply;
    }

    // An element of a list is in its list already.
    static directory_reply* begin(const redisReadTask* task, kind is)
    {
        auto* reply =
            task->parent != nullptr
                ? &static_cast<directory_reply*>(task->parent->obj)->items[static_cast<std::size_t>(task->idx)]
                : new (std::nothrow) directory_reply;
        if (reply != nullptr) reply->is = is;
        return reply;
    }

    static void* fail(const redisReadTask* task, directory_reply* reply)
    {
        if (task->parent == nullptr) delete reply;
        return nullptr;
    }

    redisReplyObjectFunctions make{};
    const std::size_t most_elements;
    std::size_t left;
    bool is_too_large = false;
};

directory_replies::directory_replies(limits of)
    : limits_(of), maker_(std::make_unique<maker>(of.elements)), reader_(redisReaderCreateWithFunctions(&maker_->make))
{
    if (reader_ == nullptr) throw std::bad_alloc();
    reader_->privdata = maker_.get();
}

directory_replies::~directory_replies() { redisReaderFree(reader_); }

void directory_replies::take(std::string_view bytes)
{
    taken_ += bytes.size();
    redisReaderFeed(reader_, bytes.data(), bytes.size());
}

std::optional<directory_reply> directory_replies::next()
{
    void* whole = nullptr;
    const bool is_good = redisReaderGetReply(reader_, &whole) == REDIS_OK;
    if (maker_->is_too_large || (is_good && whole == nullptr && taken_ > limits_.bytes))
        throw directory_away("its answer is larger than any that was asked for");
    if (!is_good) throw directory_away(std::string("it speaks another protocol: ") + redisReaderGetError(reader_));
    if (whole == nullptr) return std::nullopt;
    const std::unique_ptr<directory_reply> kept(static_cast<directory_reply*>(whole));
    taken_ = reader_->len - reader_->pos;
    maker_->left = maker_->most_elements;
    return std::move(*kept);
}

}  // namespace cmcp
