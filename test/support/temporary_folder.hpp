#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace cmcp::test {

/// A folder that goes with the object.
struct temporary_folder {
    explicit temporary_folder(const std::string& parent = "/tmp")
    {
        std::string name = parent + "/cmcp-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path = name;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

}  // namespace cmcp::test
