// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <utility>

namespace headlens::cli {

std::string Fixed(double value, int digits) {
  if (std::isnan(value)) return "NaN";  // some of them have a sign, which would be printed
  std::array<char, 400> text;           // the largest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string Term(double value) { return (std::signbit(value) || std::isnan(value) ? "" : "+") + Fixed(value, 3); }

Cells Line(Cells cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

void PrintColumns(const std::vector<Cells>& rows, std::string_view alignment) {
  std::vector<std::size_t> widths(alignment.size());
  for (const Cells& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += i > 0 ? "  " : "";
      line += alignment[i] == 'r' ? space + row[i] : row[i] + (i + 1 < row.size() ? space : "");
    }
    std::cout << line << "\n";
  }
}

std::vector<Index> LargestOf(std::span<const float> numbers, Index count) {
  std::vector<Index> places(numbers.size());
  std::iota(places.begin(), places.end(), Index{0});
  const auto end = places.begin() + std::min(count, static_cast<Index>(places.size()));
  // NaN compares as the largest, so that it is seen, and equal numbers keep their order.
  const auto size = [&](Index place) {
    const float number = std::abs(numbers[static_cast<std::size_t>(place)]);
    return std::isnan(number) ? INFINITY : number;
  };
  std::partial_sort(places.begin(), end, places.end(),
                    [&](Index a, Index b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  places.erase(end, places.end());
  return places;
}

void PrintSum(const std::string& what, double whole, std::span<const float> terms) {
  const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
  std::cout << what << " " << Fixed(whole, 3) << " = sum of " << terms.size() << " terms (parts add up to "
            << Fixed(sum, 3) << ")\n\n";
}

void PrintTerms(std::span<const float> terms, Index top, const Cells& titles,
                const std::function<Cells(Index)>& describe) {
  std::vector<Cells> rows = {{"term"}};
  rows[0].insert(rows[0].end(), titles.begin(), titles.end());
  const std::vector<Index> largest = LargestOf(terms, top);
  double others = std::accumulate(terms.begin(), terms.end(), 0.0);
  for (const Index place : largest) {
    const double term{terms[static_cast<std::size_t>(place)]};
    others -= term;
    Cells& row = rows.emplace_back(Cells{Term(term)});
    for (std::string& cell : describe(place)) row.push_back(std::move(cell));
  }
  if (largest.size() < terms.size())
    rows.push_back({Term(others), std::to_string(terms.size() - largest.size()) + " others"});
  PrintColumns(rows, "r" + std::string(titles.size(), 'l'));
}

}  // namespace headlens::cli
