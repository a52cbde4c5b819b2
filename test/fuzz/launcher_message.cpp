// Messages between server and launcher, and the launcher's options: whatever comes is refused or understood, and
// what is understood is written again with the same meaning.
#include "wire/launcher_options.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace {

using namespace cmcp::sandbox;

std::string again(const start_message& start) { return encode_start(start.id, start.probe, start.request); }

void check_start(std::string_view body)
{
    const start_message start = decode_start(body);
    start_message descriptors = start;
    // Input and script are descriptors of the packet, so their text is no part of the message.
    if (start.has_input) descriptors.request.input = "";
    if (start.has_script) descriptors.request.script = "";
    const std::string written = again(descriptors);
    start_message read = decode_start(written);
    if (read.has_input != start.has_input || read.has_script != start.has_script) std::abort();
    read.request.input = descriptors.request.input;
    read.request.script = descriptors.request.script;
    if (again(read) != written) std::abort();
}

void check_message(std::string_view message)
{
    switch (kind_of(message)) {
        case message_kind::start:
            return check_start(message.substr(1));
        case message_kind::cancel:
            if (decode_cancel(encode_cancel(decode_cancel(message))) != decode_cancel(message)) std::abort();
            return;
        case message_kind::ended: {
            const std::string written = encode_ended(decode_ended(message));
            if (encode_ended(decode_ended(written)) != written) std::abort();
            return;
        }
        case message_kind::end_cell:
            if (decode_end_cell(encode_end_cell(decode_end_cell(message))).name != decode_end_cell(message).name)
                std::abort();
            return;
        case message_kind::list_cells:
            if (decode_list_cells(encode_list_cells(decode_list_cells(message))) != decode_list_cells(message))
                std::abort();
            return;
        case message_kind::cells: {
            const std::string written = encode_cells(decode_cells(message));
            if (encode_cells(decode_cells(written)) != written) std::abort();
            return;
        }
        case message_kind::open_socket: {
            const std::string written = encode_open_socket(decode_open_socket(message));
            if (encode_open_socket(decode_open_socket(written)) != written) std::abort();
            return;
        }
        case message_kind::socket: {
            const std::string written = encode_socket(decode_socket(message));
            if (encode_socket(decode_socket(written)) != written) std::abort();
            return;
        }
        case message_kind::hold_cells:
            if (decode_hold_cells(encode_hold_cells(decode_hold_cells(message))) != decode_hold_cells(message))
                std::abort();
            return;
        case message_kind::doors:
            if (decode_doors(encode_doors(decode_doors(message))) != decode_doors(message)) std::abort();
            return;
        case message_kind::start_in_memfd:  // the body is in a descriptor
        case message_kind::largest_ended:   // nothing reads its number
            return;
        case message_kind::hello:
        case message_kind::prepared:
        case message_kind::stops:
            if (decode_text(encode_text(kind_of(message), decode_text(message))) != decode_text(message)) std::abort();
    }
}

void check_options(std::string_view text)
{
    const std::string written = encode_options(decode_options(text));
    if (encode_options(decode_options(written)) != written) std::abort();
}

template <class Check>
void refused_or(Check check, std::string_view text)
try {
    check(text);
} catch (const std::exception&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    refused_or(check_message, text);
    refused_or(check_options, text);
    return 0;
}
