// SPDX-License-Identifier: Apache-2.0
#include "headlens/color_options.h"

#include "by_name/color_fields.h"
#include "by_name/field_reader.h"
#include "files/json.h"

namespace headlens {

std::span<const Field<ColorOptions>> ColorbarFields() {
  static constexpr Choice kColormaps[] = {{"sequential", Colormap::kSequential}, {"diverging", Colormap::kDiverging}};
  static constexpr Choice kThemes[] = {{"light", Theme::kLight}, {"dark", Theme::kDark}};
  static constexpr Field<ColorOptions> kFields[] = {
      field::OneOf<&ColorOptions::colormap>(
          "colormap", kColormaps, "\"sequential\" (default) is for weights, \"diverging\" for signed values."),
      field::OneOf<&ColorOptions::theme>("theme", kThemes,
                                         "The theme of the picture's background, into which low values fade."),
  };
  return kFields;
}

std::span<const Field<ColorOptions>> RangeFields() {
  static constexpr Field<ColorOptions> kFields[] = {
      field::Scalar<&ColorOptions::min>(
          "min", FieldType::kNumber,
          "The range of values is from `min` to `max`. A bound that is absent is taken from the data."),
      field::Scalar<&ColorOptions::max>("max", FieldType::kNumber, "As `min`."),
  };
  return kFields;
}

std::span<const Field<ColorOptions>> PictureFields() {
  static constexpr Field<ColorOptions> kFields[] = {
      field::Flag<&ColorOptions::causal>("causal", "Masks the cells above the diagonal, which makes them transparent."),
      field::Needs("causal",
                   field::Count<&ColorOptions::window>(
                       "window", 0,
                       "Masks also the cells of a row before this many last ones. Default 0: no others. Needs "
                       "`causal`.")),
  };
  return kFields;
}

ColorOptions ReadColorOptions(std::string_view options) {
  const nlohmann::json given = ParseObject(options, "options");
  OptionReader reader(given);
  FieldReader fields(reader);
  ColorOptions colors;
  for (const auto& list : {ColorbarFields(), RangeFields(), PictureFields()}) fields.Read(list, colors);
  const std::optional<double> min = reader.Number("min"), max = reader.Number("max");
  reader.RejectUnknown();
  if (min && max && *min >= *max) {
    throw OptionError("`min`", Shown(given["min"]), {"less than `max`, ", Shown(given["max"])});
  }
  return colors;
}

}  // namespace headlens
