// An archive of a backup: whatever is in it is either refused with a sentence, or read in bounds. Checksums of headers
// are made right first, because few inputs would pass them by chance.
#include "backup/archive_reader.hpp"
#include "backup/bad_archive.hpp"
#include "backup/tar_format.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace cmcp::backup;

struct bytes final : byte_source {
    explicit bytes(std::string of) : text(std::move(of)) {}
    std::size_t take(char* into, std::size_t most) override
    {
        const auto count = std::min(most, text.size() - at);
        std::memcpy(into, text.data() + at, count);
        at += count;
        return count;
    }
    std::string text;
    std::size_t at = 0;
};

void mend_checksums(std::string& archive)
{
    for (std::size_t at = 0; at + tar_block <= archive.size(); at += tar_block) {
        if (archive.compare(at + 257, 5, "ustar") != 0) continue;
        archive.replace(at + 148, 8, "        ");
        unsigned sum = 0;
        for (std::size_t i = 0; i < tar_block; ++i) sum += static_cast<unsigned char>(archive[at + i]);
        char digits[8];
        std::snprintf(digits, sizeof digits, "%06o", sum);
        archive.replace(at + 148, 6, digits, 6);
        archive[at + 154] = '\0';
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string archive(reinterpret_cast<const char*>(data), size);
    mend_checksums(archive);
    bytes source(std::move(archive));
    archive_reader reader(source);
    try {
        while (const auto next = reader.next()) {
            std::uint64_t last = 0;
            for (const auto& [offset, length] : next->data) {
                if (offset < last || offset + length > next->size) std::abort();
                last = offset + length;
            }
            char piece[700];
            while (reader.content(piece, sizeof piece) > 0) {
            }
        }
    } catch (const bad_archive&) {
    }
    return 0;
}
