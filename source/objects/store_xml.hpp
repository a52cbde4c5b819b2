#pragma once

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

/// The texts of the elements that hold no others, in the order of the document, each with its path: "Error/Code".
/// A document type is refused, because its entities may grow without bound. Throws bad_xml.
std::vector<std::pair<std::string, std::string>> xml_texts(std::string_view document);

/// An error as S3 sends it.
struct store_refusal {
    std::string code, message;  ///< empty where the body is no such error
};

store_refusal read_refusal(std::string_view body);

/// A page of the keys of a bucket (ListObjectsV2).
struct store_listing {
    std::vector<std::string> keys;
    std::string next;  ///< continuation token; empty: this is the last page
};

/// Throws bad_xml.
store_listing read_listing(std::string_view body);

}  // namespace cmcp
