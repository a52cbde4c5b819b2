#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp {

/// A request to the object storage that failed. what() is a sentence: the request, the answer, and what helps.
struct object_store_error : std::runtime_error {
    object_store_error(const std::string& sentence, std::string code_of_store, unsigned status_of_answer)
        : std::runtime_error(sentence), code(std::move(code_of_store)), status(status_of_answer)
    {
    }

    std::string code;  ///< as S3 has them, for example NoSuchBucket; empty: none came
    unsigned status;   ///< of HTTP; 0: no answer came
};

/// Advice against an answer of the storage, as a sentence.
std::string_view store_advice(std::string_view code, unsigned status);

}  // namespace cmcp
