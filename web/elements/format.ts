// SPDX-License-Identifier: Apache-2.0
/** Four decimals with a true minus sign. */
export const formatValue = (value: number, digits = 4): string => value.toFixed(digits).replace("-", "−");
