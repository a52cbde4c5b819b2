#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// Text that is no XML, or not of the expected form; what() is the end of a sentence.
struct bad_xml : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads a document piece by piece and keeps the texts of some elements that hold no others. A document type is
/// refused, because its entities may grow without bound, and so are deep nesting and long names.
class xml_reader {
public:
    /// `wanted`: paths of elements, as "Error/Code"; they must outlive this. `most`: texts that are stored.
    explicit xml_reader(std::vector<std::string_view> wanted, std::size_t most = 1000);
    xml_reader(const xml_reader&) = delete;
    xml_reader& operator=(const xml_reader&) = delete;
    ~xml_reader();

    void take(std::string_view piece);  ///< throws bad_xml

    /// The texts in the order of the document, each with its path. Throws bad_xml: the document is not whole.
    std::vector<std::pair<std::string, std::string>> finish();

    const std::string& root() const;  ///< the name of the outermost element

private:
    struct reading;
    struct handlers;
    void parse(std::string_view piece, bool is_last);

    std::unique_ptr<reading> reading_;
};

/// An error as S3 sends it.
struct store_refusal {
    std::string code, message;  ///< empty where the body is no such error
};

store_refusal read_refusal(std::string_view body);

/// An object as a list names it.
struct listed_object {
    std::string key;
    std::string etag;  ///< of its content, without quotes; empty: the storage does not say it
};

/// The ETag of an answer or a list without its quotes.
std::string plain_etag(std::string_view text);

/// A page of the objects of a bucket (ListObjectsV2).
struct store_listing {
    std::vector<listed_object> objects;
    std::string next;  ///< continuation token; empty: this is the last page
};

/// Reads a page as it is taken piece by piece. A page has at most 1,000 keys (S3), each of at most 1,024 bytes.
class listing_reader {
public:
    listing_reader();
    void take(std::string_view piece) { xml_.take(piece); }  ///< throws bad_xml
    store_listing finish();                                  ///< throws bad_xml

private:
    xml_reader xml_;
};

/// Throws bad_xml.
store_listing read_listing(std::string_view body);

}  // namespace cmcp
