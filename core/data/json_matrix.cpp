#include "data/json_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "data/number.hpp"

namespace podium {
namespace {

class Reader {
 public:
  Reader(const char* begin, const char* end, std::size_t columns, std::size_t max_rows)
      : p_(begin), end_(end), columns_(columns), max_rows_(max_rows) {}

  JsonMatrix read() {
    const std::size_t size = static_cast<std::size_t>(end_ - p_);
    out_.values.reserve(std::min(size / 2 + 1, columns_ * std::min(max_rows_, size)));
    if (!take('[')) return fail(JsonFault::syntax);
    if (!take(']')) {
      do {
        if (out_.rows == max_rows_) return fail(JsonFault::too_many_rows);
        if (!read_row()) return std::move(out_);
        ++out_.rows;
      } while (take(','));
      if (!take(']')) return fail(JsonFault::syntax);
    }
    out_.end = p_;
    return std::move(out_);
  }

 private:
  bool read_row() {
    if (!take('[')) return refuse(JsonFault::syntax);
    column_ = 0;
    if (!take(']')) {
      do {
        if (column_ == columns_) return ++column_, refuse(JsonFault::width);
        float value;
        const JsonFault fault = read_value(value);
        if (fault != JsonFault::none) return refuse(fault);
        out_.values.push_back(value);
        ++column_;
      } while (take(','));
      if (!take(']')) return refuse(JsonFault::syntax);
    }
    return column_ == columns_ || refuse(JsonFault::width);
  }

  JsonFault read_value(float& value) {
    skip_blanks();
    if (end_ - p_ >= 4 && std::memcmp(p_, "null", 4) == 0) {
      p_ += 4;
      value = std::numeric_limits<float>::quiet_NaN();
      return JsonFault::none;
    }
    // JSON is stricter than parse_number: no plus sign, no leading zeros, and digits on both sides of a point.
    const char* const first = p_ + (*p_ == '-');
    if (!is_digit(*first)) return p_ == end_ ? JsonFault::syntax : JsonFault::not_a_number;
    if (*first == '0' && is_digit(first[1])) return JsonFault::syntax;
    if (read_common(first, value)) return JsonFault::none;
    const char* const point = std::find_if_not(first, end_, is_digit);
    if (*point == '.' && !is_digit(point[1])) return JsonFault::syntax;
    double number;
    switch (parse_number(p_, number)) {
      case Parsed::number:
        break;
      case Parsed::too_large:
        return JsonFault::too_large;
      case Parsed::none:
        return JsonFault::syntax;
    }
    value = static_cast<float>(number);
    return std::isinf(value) ? JsonFault::too_large : JsonFault::none;
  }

  // Reads up to nineteen digits without an exponent. The double is at most two roundings away from the decimal, so that
  // the float is right unless the double is near the midpoint between two floats; other numbers are left to
  // parse_number.
  bool read_common(const char* q, float& value) {
    const char* const begin = q;
    std::uint64_t digits = 0;
    while (is_digit(*q)) digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
    std::ptrdiff_t count = q - begin, places = 0;
    if (*q == '.') {
      const char* const point = ++q;
      for (; end_ - q >= 8; q += 8) {
        const std::uint64_t word = detail::load_word(q);
        if (detail::count_digits(word) != 8) break;
        digits = digits * 100000000 + detail::spell_digits(word, 8);
      }
      while (is_digit(*q)) digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
      places = q - point;
      if (places == 0) return false;
    }
    if (count + places > 19 || (*q | 0x20) == 'e') return false;
    const double near = static_cast<double>(digits) / detail::powers_of_ten[places];
    if (detail::is_near_middle(near)) return false;
    value = static_cast<float>(*p_ == '-' ? -near : near);
    p_ = q;
    return true;
  }

  void skip_blanks() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\t' || *p_ == '\r')) ++p_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (p_ == end_ || *p_ != wanted) return false;
    ++p_;
    return true;
  }

  bool refuse(JsonFault fault) {
    out_.fault = fault;
    out_.row = out_.rows;
    out_.column = column_;
    return false;
  }

  JsonMatrix fail(JsonFault fault) {
    refuse(fault);
    return std::move(out_);
  }

  const char* p_;
  const char* const end_;
  const std::size_t columns_, max_rows_;
  std::size_t column_ = 0;
  JsonMatrix out_;
};

}  // namespace

JsonMatrix parse_json_matrix(const char* begin, const char* end, std::size_t columns, std::size_t max_rows) {
  return Reader(begin, end, columns, max_rows).read();
}

}  // namespace podium
