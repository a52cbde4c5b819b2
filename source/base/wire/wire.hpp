#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Messages between programs of one installation on one machine, in the machine's own order of bytes. A message is
/// described once: `wire(a, b, c)` writes its fields with a wire_writer and reads them with a wire_reader. A struct
/// says its fields by `template <class Wire> void fields(Wire& wire, wired<Wire, the_struct>& of) { wire(of.a, of.b);
/// }`.
namespace cmcp::sandbox {

template <class Wire, class T>
using wired = std::conditional_t<Wire::reads, T, const T>;

template <class T>
inline constexpr bool is_plain_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class Wire, class First, class Second>
void fields(Wire& wire, std::pair<First, Second>& of)
{
    wire(of.first, of.second);
}
template <class Wire, class First, class Second>
void fields(Wire& wire, const std::pair<First, Second>& of)
{
    wire(of.first, of.second);
}

class wire_writer {
public:
    static constexpr bool reads = false;

    template <class... Values>
    void operator()(const Values&... values)
    {
        (put(values), ...);
    }
    std::string take() { return std::move(bytes_); }

private:
    template <class T>
    requires is_plain_number<T>
    void put(const T& number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
    template <class Period>
    void put(const std::chrono::duration<std::int64_t, Period>& time)
    {
        put(time.count());
    }
    void put(std::string_view text)
    {
        put(static_cast<std::uint32_t>(text.size()));
        bytes_.append(text);
    }
    template <class T>
    void put(const std::vector<T>& list)
    {
        put(static_cast<std::uint32_t>(list.size()));
        for (const T& each : list) put(each);
    }
    template <class T>
    requires(std::is_class_v<T> && !std::is_convertible_v<const T&, std::string_view>) void put(const T& of)
    {
        fields(*this, of);
    }

    std::string bytes_;
};

template <class... Values>
std::string encoded(const Values&... values)
{
    wire_writer out;
    out(values...);
    return out.take();
}

/// Reads what wire_writer wrote. Throws std::runtime_error when the bytes end too early.
class wire_reader {
public:
    static constexpr bool reads = true;

    explicit wire_reader(std::string_view bytes) : rest_(bytes) {}

    template <class... Values>
    void operator()(Values&... values)
    {
        (get(values), ...);
    }
    template <class T>
    T next()
    {
        T value{};
        get(value);
        return value;
    }

private:
    template <class T>
    requires is_plain_number<T>
    void get(T& number) { std::memcpy(&number, take(sizeof number).data(), sizeof number); }
    void get(bool& flag) { flag = take(1)[0] != 0; }
    template <class Period>
    void get(std::chrono::duration<std::int64_t, Period>& time)
    {
        time = std::chrono::duration<std::int64_t, Period>(next<std::int64_t>());
    }
    void get(std::string& text) { text = take(next<std::uint32_t>()); }
    template <class T>
    void get(std::vector<T>& list)
    {
        auto left = next<std::uint32_t>();
        list.reserve(std::min<std::size_t>(left, rest_.size()));  // an item has a byte at least
        for (; left != 0; --left) list.push_back(next<T>());
    }
    template <class T>
    requires std::is_class_v<T>
    void get(T& of) { fields(*this, of); }

    std::string_view take(std::size_t length)
    {
        if (rest_.size() < length) throw std::runtime_error("a message between server and launcher is cut short");
        const auto piece = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return piece;
    }
    std::string_view rest_;
};

template <class T>
T decoded(std::string_view bytes)
{
    return wire_reader(bytes).next<T>();
}

}  // namespace cmcp::sandbox
