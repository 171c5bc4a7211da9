// Numbers that a force learns itself, such as thresholds or the steepness of a function.
//
// Gradient steps move free numbers, one per parameter, and any real number is allowed for each. A force sees the
// values that they stand for, which obey the rule of their kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace podium {

enum class ParameterKind {
  threshold,    // the first is free; each other one is the one before plus e^free, so that they rise
  positive,     // e^free
  correlation,  // a logistic function of the free number, from 0 to below 1
  real,         // the free number itself
};

struct ForceParameter {
  std::string name;
  ParameterKind kind;
};

class ForceParameters {
 public:
  static constexpr double kFarthest = 30;  // free numbers in an exponential count as at most this in size
  static constexpr double kMostCorrelation = 1 - 1e-6;

  ForceParameters() = default;
  explicit ForceParameters(std::vector<ForceParameter> parameters) : parameters_(std::move(parameters)) {}

  std::size_t size() const { return parameters_.size(); }
  const std::vector<ForceParameter>& parameters() const { return parameters_; }

  // Values from free numbers.
  void to_values(const double* free, double* values) const;
  // Free numbers that stand for these values, or for the nearest that can be reached.
  void to_free(const double* values, double* free) const;
  // Adds the force on the free numbers, given the force on the values.
  void add_free_force(const double* free, const double* force, double* out) const;

 private:
  std::vector<ForceParameter> parameters_;
};

}  // namespace podium
