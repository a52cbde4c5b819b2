#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cmcp::sandbox {

/// Writes numbers and strings in the machine's own order: both ends are one program on one machine.
class wire_writer {
public:
    template <class T>
    requires std::is_arithmetic_v<T>
    void number(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(std::string_view value)
    {
        number(static_cast<std::uint32_t>(value.size()));
        bytes_.append(value);
    }
    template <class Range>
    void texts(const Range& values)
    {
        number(static_cast<std::uint32_t>(values.size()));
        for (const auto& value : values) text(value);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

/// Reads what wire_writer wrote. Throws std::runtime_error when the bytes end too early.
class wire_reader {
public:
    explicit wire_reader(std::string_view bytes) : rest_(bytes) {}

    template <class T>
    requires std::is_arithmetic_v<T> T number()
    {
        T value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string text() { return std::string(take(number<std::uint32_t>())); }
    template <class Vector>
    void texts(Vector& into)
    {
        for (auto left = number<std::uint32_t>(); left != 0; --left) into.push_back(text());
    }

private:
    std::string_view take(std::size_t length)
    {
        if (rest_.size() < length) throw std::runtime_error("a message between server and launcher is cut short");
        const auto taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return taken;
    }
    std::string_view rest_;
};

}  // namespace cmcp::sandbox
