// Why a row fails though its rule lets it pass: what the numbers that a rule reads do not show.
#pragma once

#include "assay/judge/rule_context.h"

namespace assay {

// Each gives the reason to fail, or nothing.

// What a dump of msprobe says of an argument beside its value: the partner of a message, a memory format, the
// class of an object that it does not describe.
std::optional<std::string> other_fact(const Comparison& row, const Head& head);

// Metrics are taken over the elements that are finite on both sides: whatever a rule says of these, it says
// nothing of the others.
std::optional<std::string> other_nonfinite(const Comparison& row, const RowContext& context);

// What a rule on NaN does not speak of.
std::optional<std::string> other_counts(const RowContext& context, std::string_view what,
                                        std::string_view mine_column, std::string_view golden_column);

// Of two types, where the finer side holds a number that the coarser one cannot, and is further off than
// single elements may be: it was cut off.
std::optional<std::string> cut_off(const Comparison& row, const RowContext& context, const ModelPlace& place);

// The fill of a mask or one massive activation makes the norm: what all other elements do beside it does not
// show in errors that are measured in that norm. Here they need only be the same tensor.
std::optional<std::string> drowned(const Comparison& row, const RowContext& context, const ModelPlace& place);

// Where numbers end, a few steps are all there is: zeros instead of what did not underflow are no rounding.
std::optional<std::string> vanished(const Comparison& row, const RowContext& context);

// Where few bits allow much: all numbers larger by one factor is a wrong scale. Rounding, clipping too,
// leaves errors of every direction.
std::optional<std::string> scaled(const Comparison& row, const RowContext& context, const ModelPlace& place);

// Numbers that count or name something are not rounded, whatever type they are kept in: a token id that is
// one off is another token.
std::optional<std::string> other_integer(const Comparison& row, const RowContext& context,
                                         const ModelPlace& place);

}  // namespace assay
