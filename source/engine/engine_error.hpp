#pragma once

#include <stdexcept>
#include <string>

namespace cmcp::engine {

/// The engine did not do what it was asked for. what() is a sentence.
struct engine_error : std::runtime_error {
    engine_error(int status_, const std::string& sentence) : std::runtime_error(sentence), status(status_) {}

    int status;  ///< HTTP status of its answer; 0: it gave none
};

}  // namespace cmcp::engine
