// Converts decimal text to binary, correctly rounded, with a fast path for the numbers that are common in data files.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace podium {

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

enum class Parsed { number, too_large, none };

namespace detail {

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Returns the decimal exponent of the first digit that is not 0, including the exponent part: 3 for 1234, −2 for
// 0.012. The token has such a digit and is a well-formed number.
inline std::int64_t decimal_magnitude(const char* begin, const char* end) {
  const char* const power = std::find_if(begin, end, [](char c) { return (c | 0x20) == 'e'; });
  const char* const point = std::find(begin, power, '.');
  const char* const first = std::find_if(begin, power, [](char c) { return c != '0' && c != '.'; });
  std::int64_t magnitude = first < point ? point - first - 1 : point - first;
  if (power == end) return magnitude;
  const bool down = power[1] == '-';
  std::int64_t exponent = 0;
  for (const char* p = power + 1 + (is_digit(power[1]) ? 0 : 1); p < end; ++p) {
    exponent = std::min<std::int64_t>(exponent * 10 + (*p - '0'), std::int64_t{1} << 40);
  }
  return magnitude + (down ? -exponent : exponent);
}

// Converts the whole token with the standard library, which uses every digit. Too small numbers become 0.
template <class T>
Parsed parse_slowly(const char* begin, const char* end, T& value) {
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && stop == end) return Parsed::number;
  if (error != std::errc::result_out_of_range) return Parsed::none;
  if (decimal_magnitude(begin, end) > 0) return Parsed::too_large;
  value = 0;
  return Parsed::number;
}

// Returns whether rounding an already rounded double to T could differ from rounding the decimal once.
template <class T>
bool needs_care(double value) {
  if constexpr (sizeof(T) == sizeof(double)) return false;
  const std::uint64_t low = std::bit_cast<std::uint64_t>(value) & 0x1FFFFFFF;
  return low == 0x10000000 || value < std::numeric_limits<float>::min() || value > std::numeric_limits<float>::max();
}

inline constexpr std::uint64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
inline constexpr double tenths[] = {1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};

// Returns whether a double is within a few of its own steps of the midpoint between two floats. It must be 0, or at
// least 1e-8 with at most fifteen digits before or after the point, and so in the range of normal floats.
inline bool is_near_middle(double value) {
  const std::uint64_t low = std::bit_cast<std::uint64_t>(value) & 0x1FFFFFFF;
  return low - (0x10000000 - 4) <= 8;
}

inline std::uint64_t load_word(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Returns how many of the eight characters, from the first on, are digits.
inline int count_digits(std::uint64_t word) {
  const std::uint64_t values = word ^ 0x3030303030303030;
  const std::uint64_t others = ((values + 0x7676767676767676) | values) & 0x8080808080808080;
  return std::countr_zero(others) / 8;  // 8 if there are no others
}

// Returns the number that the first `count` (1 to 8) characters spell, combining two, four, then eight digits.
inline std::uint64_t spell_digits(std::uint64_t word, int count) {
  std::uint64_t v = (word ^ 0x3030303030303030) << (64 - 8 * count);
  v = v * 10 + (v >> 8);
  return (((v & 0x000000FF000000FF) * 0x000F424000000064) + (((v >> 16) & 0x000000FF000000FF) * 0x0000271000000001)) >>
         32;
}

}  // namespace detail

// Parses up to seven digits, perhaps a point and up to eight more, which is nearly every number in a data file, without
// branches on its length. Returns true and moves p past the number only if a blank or line end follows; 16 characters
// must be readable.
inline bool parse_short_number(const char*& p, float& value) {
  static_assert(std::endian::native == std::endian::little);
  if (p[1] == ' ' && is_digit(*p)) {  // most counts have one digit
    value = static_cast<float>(*p++ - '0');
    return true;
  }
  const bool negative = *p == '-';
  const char* q = p + negative;
  const std::uint64_t head = detail::load_word(q);
  const int whole = detail::count_digits(head);
  if (whole == 0 || whole == 8) return false;
  q += whole;
  const std::uint64_t integer = detail::spell_digits(head, whole);
  float magnitude;
  if (*q == '.') {
    const std::uint64_t tail = detail::load_word(q + 1);
    const int places = detail::count_digits(tail);
    if (places == 0) return false;
    const double digits =
        static_cast<double>(integer * detail::whole_powers[places] + detail::spell_digits(tail, places));
    // At most two roundings away from the true quotient: near a midpoint between two floats the slow path decides.
    const double near = digits * detail::tenths[places];
    if (detail::is_near_middle(near)) return false;
    magnitude = static_cast<float>(near);
    q += 1 + places;
  } else {
    magnitude = static_cast<float>(integer);
  }
  if (*q != ' ' && *q != '\n') return false;
  value = negative ? -magnitude : magnitude;
  p = q;
  return true;
}

// Parses a decimal number at p and moves p past it; the text must end in a character that is no part of a number.
template <class T>
Parsed parse_number(const char*& p, T& value) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char* const begin = p;
  std::uint64_t digits = 0;
  while (is_digit(*p)) digits = digits * 10 + static_cast<unsigned>(*p++ - '0');
  std::ptrdiff_t count = p - begin;
  std::int64_t exponent = 0;
  if (*p == '.') {
    const char* const point = ++p;
    while (is_digit(*p)) digits = digits * 10 + static_cast<unsigned>(*p++ - '0');
    exponent = point - p;
    count += p - point;
  }
  if (count == 0) return Parsed::none;
  if ((*p | 0x20) == 'e') {
    const char* q = p + 1;
    const bool down = *q == '-';
    if (*q == '-' || *q == '+') ++q;
    if (!is_digit(*q)) return Parsed::none;
    std::int64_t power = 0;
    for (; is_digit(*q); ++q) power = power < 100000 ? power * 10 + (*q - '0') : power;
    exponent += down ? -power : power;
    p = q;
  }
  if (count <= 18 && digits <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    const double whole = static_cast<double>(digits);
    const double exact =
        exponent < 0 ? whole / detail::powers_of_ten[-exponent] : whole * detail::powers_of_ten[exponent];
    if (digits == 0 || !detail::needs_care<T>(exact)) {
      value = static_cast<T>(negative ? -exact : exact);
      return Parsed::number;
    }
  }
  const Parsed outcome = detail::parse_slowly<T>(begin, p, value);
  if (negative) value = -value;
  return outcome;
}

}  // namespace podium
