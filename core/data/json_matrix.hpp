// Reads a JSON array of arrays of numbers into float32, without a Python object per number.
#pragma once

#include <cstddef>
#include <vector>

namespace podium {

enum class JsonFault { none, syntax, not_a_number, too_large, width, too_many_rows };

// What a text held. If there is a fault, `row` and `column` say where, and a fault of width has the number of values
// found there (one more than allowed stands for any larger number).
struct JsonMatrix {
  std::vector<float> values;
  std::size_t rows = 0;
  JsonFault fault = JsonFault::none;
  std::size_t row = 0, column = 0;
  const char* end = nullptr;  // behind the last bracket, if there is no fault
};

// Parses `[[1, null], [2.5, -3e2]]`, where null is a missing value (NaN). Every row must have `columns` values. Each
// number is rounded to double and then to float, as other JSON readers do. `*end` must be readable, and no part of a
// number.
JsonMatrix parse_json_matrix(const char* begin, const char* end, std::size_t columns, std::size_t max_rows);

}  // namespace podium
