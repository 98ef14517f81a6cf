// SPDX-License-Identifier: Apache-2.0
/// Tables for people.
#ifndef HEADLENS_NATIVE_CLI_TABLE_H_
#define HEADLENS_NATIVE_CLI_TABLE_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::cli {

/// The number with so many digits after the point.
std::string Fixed(double value, int digits);
/// The number with three digits after the point, and always a sign: a term of a sum.
std::string Term(double value);

using Cells = std::vector<std::string>;

/// The cells of one line, where those of `more` come last.
Cells Line(Cells cells, const Cells& more);

/// Prints rows of cells in columns. `alignment` has a letter for each column: l or r. Cells that are not ASCII belong
/// into the last column, since characters differ in width.
void PrintColumns(const std::vector<Cells>& rows, std::string_view alignment);

/// The places of the `count` numbers that are largest in absolute value, the largest first.
std::vector<Index> LargestOf(std::span<const float> numbers, Index count);

/// Prints "score 3.217 = sum of 1024 terms (parts add up to 3.217)". Both numbers come from computations of their own.
void PrintSum(const std::string& what, double whole, std::span<const float> terms);

/// Prints the `top` terms that are largest in absolute value, and the sum of the others. `titles` are those of the
/// columns after the terms, and `describe(place)` what stands in them.
void PrintTerms(std::span<const float> terms, Index top, const Cells& titles,
                const std::function<Cells(Index)>& describe);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_TABLE_H_
