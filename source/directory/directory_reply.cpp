#include "directory/directory_reply.hpp"

#include <hiredis/hiredis.h>

#include <new>
#include <stdexcept>

namespace cmcp {

namespace {

directory_reply converted(const redisReply& from)
{
    using kind = directory_reply::kind;
    directory_reply to;
    switch (from.type) {
        case REDIS_REPLY_INTEGER:
            to.is = kind::number;
            break;
        case REDIS_REPLY_ARRAY:
            to.is = kind::list;
            break;
        case REDIS_REPLY_NIL:
            return to;
        case REDIS_REPLY_ERROR:
            to.is = kind::error;
            break;
        default:
            to.is = kind::text;
    }
    to.number = from.integer;
    if (from.str != nullptr) to.text.assign(from.str, static_cast<std::size_t>(from.len));
    for (std::size_t i = 0; i < from.elements; ++i) to.items.push_back(converted(*from.element[i]));
    return to;
}

}  // namespace

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

directory_replies::directory_replies() : reader_(redisReaderCreate())
{
    if (reader_ == nullptr) throw std::bad_alloc();
}

directory_replies::~directory_replies() { redisReaderFree(reader_); }

void directory_replies::take(std::string_view bytes) { redisReaderFeed(reader_, bytes.data(), bytes.size()); }

std::optional<directory_reply> directory_replies::next()
{
    void* whole = nullptr;
    if (redisReaderGetReply(reader_, &whole) != REDIS_OK)
        throw std::runtime_error(std::string("it speaks another protocol: ") + redisReaderGetError(reader_));
    if (whole == nullptr) return std::nullopt;
    const std::unique_ptr<void, void (*)(void*)> kept(whole, freeReplyObject);
    return converted(*static_cast<const redisReply*>(whole));
}

}  // namespace cmcp
