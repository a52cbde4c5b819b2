#include "objects/store_xml.hpp"

#include "text/ascii.hpp"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <new>

namespace cmcp {

namespace {

constexpr std::size_t deepest = 16, longest_name = 64, longest_text = 4096;
constexpr std::size_t longest_refusal = 64 * 1024, most_keys = 1000, longest_key = 1024;

struct free_parser {
    void operator()(XML_Parser parser) const { ::XML_ParserFree(parser); }
};

}  // namespace

// The document as far as it is read. Exceptions do not pass through Expat, which is written in C.
struct xml_reader::reading {
    std::unique_ptr<XML_ParserStruct, free_parser> parser;
    std::vector<std::string_view> wanted;
    std::size_t most = 0;
    std::string root;
    std::string path;                // of the element that is open
    std::vector<std::size_t> sizes;  // of the paths around it
    std::string text;
    bool is_leaf = false;
    const char* refusal = nullptr;
    std::vector<std::pair<std::string, std::string>> texts;

    void refuse(const char* why)
    {
        refusal = why;
        ::XML_StopParser(parser.get(), XML_FALSE);
    }
    bool is_wanted() const { return is_leaf && std::find(wanted.begin(), wanted.end(), path) != wanted.end(); }
};

/// The callbacks of Expat.
struct xml_reader::handlers {
    static void XMLCALL begin_element(void* data, const XML_Char* name, const XML_Char** /*attributes*/)
    {
        auto& of = *static_cast<reading*>(data);
        if (of.refusal != nullptr) return;
        const std::string_view own(name);
        if (of.sizes.size() == deepest) return of.refuse("is nested too deeply");
        if (own.size() > longest_name) return of.refuse("has an element with a very long name");
        if (of.sizes.empty()) of.root = own;
        of.sizes.push_back(of.path.size());
        if (!of.path.empty()) of.path += '/';
        of.path += own;
        of.text.clear();
        of.is_leaf = true;
    }

    static void XMLCALL end_element(void* data, const XML_Char* /*name*/)
    {
        auto& of = *static_cast<reading*>(data);
        if (of.refusal != nullptr) return;  // Expat still tells the end of an empty element
        if (of.is_wanted()) {
            if (of.texts.size() == of.most) return of.refuse("has more entries than were asked for");
            of.texts.emplace_back(of.path, std::move(of.text));
        }
        of.text.clear();
        of.is_leaf = false;
        of.path.resize(of.sizes.back());
        of.sizes.pop_back();
    }

    static void XMLCALL add_text(void* data, const XML_Char* piece, int length)
    {
        auto& of = *static_cast<reading*>(data);
        if (of.refusal != nullptr || !of.is_wanted()) return;
        of.text.append(piece, static_cast<std::size_t>(length));
        if (of.text.size() > longest_text) of.refuse("has a very long text");
    }

    static void XMLCALL refuse_document_type(void* data, const XML_Char* /*name*/, const XML_Char* /*system*/,
                                             const XML_Char* /*published*/, int /*has_subset*/)
    {
        static_cast<reading*>(data)->refuse("has a document type");
    }
};

xml_reader::xml_reader(std::vector<std::string_view> wanted, std::size_t most) : reading_(std::make_unique<reading>())
{
    reading_->parser.reset(::XML_ParserCreate("UTF-8"));
    if (!reading_->parser) throw std::bad_alloc();
    reading_->wanted = std::move(wanted);
    reading_->most = most;
    auto* const parser = reading_->parser.get();
    ::XML_SetUserData(parser, reading_.get());
    ::XML_SetElementHandler(parser, handlers::begin_element, handlers::end_element);
    ::XML_SetCharacterDataHandler(parser, handlers::add_text);
    ::XML_SetStartDoctypeDeclHandler(parser, handlers::refuse_document_type);
}

xml_reader::~xml_reader() = default;

const std::string& xml_reader::root() const { return reading_->root; }

void xml_reader::parse(std::string_view piece, bool is_last)
{
    auto* const parser = reading_->parser.get();
    const auto status =
        ::XML_Parse(parser, piece.data(), static_cast<int>(piece.size()), is_last ? XML_TRUE : XML_FALSE);
    if (reading_->refusal != nullptr) throw bad_xml(std::string("its XML ") + reading_->refusal);
    if (status != XML_STATUS_OK)
        throw bad_xml("its XML is malformed (" + std::string(::XML_ErrorString(::XML_GetErrorCode(parser))) + ")");
}

void xml_reader::take(std::string_view piece) { parse(piece, false); }

std::vector<std::pair<std::string, std::string>> xml_reader::finish()
{
    parse({}, true);
    return std::move(reading_->texts);
}

// A longer body is no error of a storage but some program's page.
store_refusal read_refusal(std::string_view body)
try {
    store_refusal refusal;
    if (body.size() > longest_refusal) return refusal;
    xml_reader xml({"Error/Code", "Error/Message"}, 2);
    xml.take(body);
    for (auto& [path, text] : xml.finish())
        (path == "Error/Code" ? refusal.code : refusal.message) = trimmed(text, white_space);
    return refusal;
} catch (const bad_xml&) {
    return {};  // a page of a proxy, most often
}

std::string plain_etag(std::string_view text)
{
    text = trimmed(text, white_space);
    if (text.starts_with('"')) text.remove_prefix(1);
    if (text.ends_with('"')) text.remove_suffix(1);
    return std::string(text);
}

listing_reader::listing_reader()
    : xml_({"ListBucketResult/Contents/Key", "ListBucketResult/Contents/ETag", "ListBucketResult/IsTruncated",
            "ListBucketResult/NextContinuationToken"},
           2 * most_keys + 2)
{
}

store_listing listing_reader::finish()
{
    store_listing listing;
    bool goes_on = false;
    for (auto& [path, text] : xml_.finish()) {
        if (path.ends_with("IsTruncated")) goes_on = trimmed(text, white_space) == "true";
        if (path.ends_with("NextContinuationToken")) listing.next = trimmed(text, white_space);
        if (path.ends_with("Key") && listing.objects.size() == most_keys)
            throw bad_xml("its XML has more entries than were asked for");
        if (path.ends_with("Key") && text.size() > longest_key) throw bad_xml("it has a key of more than 1024 bytes");
        if (path.ends_with("ETag") && !listing.objects.empty()) listing.objects.back().etag = plain_etag(text);
        if (path.ends_with("Key")) listing.objects.push_back({std::move(text), {}});
    }
    if (xml_.root() != "ListBucketResult") throw bad_xml("it is no ListBucketResult");
    if (goes_on && listing.next.empty()) throw bad_xml("it goes on without a NextContinuationToken");
    if (!goes_on) listing.next.clear();
    return listing;
}

store_listing read_listing(std::string_view body)
{
    listing_reader reader;
    reader.take(body);
    return reader.finish();
}

}  // namespace cmcp
