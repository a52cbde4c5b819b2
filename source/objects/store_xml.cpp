#include "objects/store_xml.hpp"

#include "text/ascii.hpp"

#include <expat.h>

#include <memory>

namespace cmcp {

namespace {

constexpr std::size_t deepest = 16;

struct free_parser {
    void operator()(XML_Parser parser) const { ::XML_ParserFree(parser); }
};

// The document as far as it is read. Exceptions do not pass through Expat, which is written in C.
struct xml_reading {
    XML_Parser parser = nullptr;
    std::vector<std::string> open;
    std::string text;
    bool is_leaf = false;
    bool is_refused = false;
    std::vector<std::pair<std::string, std::string>> texts;

    void refuse()
    {
        is_refused = true;
        ::XML_StopParser(parser, XML_FALSE);
    }
    std::string path() const
    {
        std::string names;
        for (const auto& name : open) names += (names.empty() ? "" : "/") + name;
        return names;
    }
};

void XMLCALL begin_element(void* data, const XML_Char* name, const XML_Char** /*attributes*/)
{
    auto& reading = *static_cast<xml_reading*>(data);
    if (reading.open.size() == deepest) return reading.refuse();
    reading.open.emplace_back(name);
    reading.text.clear();
    reading.is_leaf = true;
}

void XMLCALL end_element(void* data, const XML_Char* /*name*/)
{
    auto& reading = *static_cast<xml_reading*>(data);
    if (reading.is_leaf) reading.texts.emplace_back(reading.path(), std::move(reading.text));
    reading.text.clear();
    reading.is_leaf = false;
    reading.open.pop_back();
}

void XMLCALL add_text(void* data, const XML_Char* piece, int length)
{
    static_cast<xml_reading*>(data)->text.append(piece, static_cast<std::size_t>(length));
}

void XMLCALL refuse_document_type(void* data, const XML_Char* /*name*/, const XML_Char* /*system*/,
                                  const XML_Char* /*published*/, int /*has_subset*/)
{
    static_cast<xml_reading*>(data)->refuse();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> xml_texts(std::string_view document)
{
    const std::unique_ptr<XML_ParserStruct, free_parser> parser(::XML_ParserCreate("UTF-8"));
    if (!parser) throw std::bad_alloc();
    xml_reading reading;
    reading.parser = parser.get();
    ::XML_SetUserData(parser.get(), &reading);
    ::XML_SetElementHandler(parser.get(), begin_element, end_element);
    ::XML_SetCharacterDataHandler(parser.get(), add_text);
    ::XML_SetStartDoctypeDeclHandler(parser.get(), refuse_document_type);
    const auto status = ::XML_Parse(parser.get(), document.data(), static_cast<int>(document.size()), XML_TRUE);
    if (reading.is_refused) throw bad_xml("its XML has a document type or is nested too deeply");
    if (status != XML_STATUS_OK)
        throw bad_xml("its XML is malformed (" + std::string(::XML_ErrorString(::XML_GetErrorCode(parser.get()))) +
                      " in line " + std::to_string(::XML_GetCurrentLineNumber(parser.get())) + ")");
    return std::move(reading.texts);
}

store_refusal read_refusal(std::string_view body)
try {
    store_refusal refusal;
    for (const auto& [path, text] : xml_texts(body)) {
        if (path == "Error/Code") refusal.code = trimmed(text, white_space);
        if (path == "Error/Message") refusal.message = trimmed(text, white_space);
    }
    return refusal;
} catch (const bad_xml&) {
    return {};  // a page of a proxy, most often
}

store_listing read_listing(std::string_view body)
{
    store_listing listing;
    bool goes_on = false, is_listing = false;
    for (const auto& [path, text] : xml_texts(body)) {
        is_listing = is_listing || path.starts_with("ListBucketResult");
        if (path == "ListBucketResult/Contents/Key") listing.keys.push_back(text);
        if (path == "ListBucketResult/IsTruncated") goes_on = trimmed(text, white_space) == "true";
        if (path == "ListBucketResult/NextContinuationToken") listing.next = trimmed(text, white_space);
    }
    if (!is_listing) throw bad_xml("it is no ListBucketResult");
    if (goes_on && listing.next.empty()) throw bad_xml("it goes on without a NextContinuationToken");
    if (!goes_on) listing.next.clear();
    return listing;
}

}  // namespace cmcp
