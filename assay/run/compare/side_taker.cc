#include "assay/run/compare/side_taker.h"

#include "assay/metric/numpy_stats.h"
#include "assay/run/compare/dump_claims.h"
#include "assay/run/compare/row_facts.h"
#include "assay/run/compare/stated_comparison.h"
#include "assay/support/log.h"

namespace assay {
std::optional<Made> SideTaker::take(Side stands_for, Comparison& row, Remarking remarking) {
  const std::optional<ItemId>& id = stands_for == Side::mine ? row.pair.mine : row.pair.golden;
  if (!id) return std::nullopt;
  // Whose item it is: an operator of mine may be held against its own input.
  const Side side = stands_for == Side::mine ? Side::mine : row.pair.golden_side();
  SideFacts& facts = row.of(stands_for);
  const Item& item = matched_.item(side, *id);
  facts.name = item.name;
  facts.item = &item;
  const Frame& frame = matched_.frames.frame(side, *id);
  facts.op_type = matched_.frames.node(side, *id).type;
  facts.within = matched_.frames.node(side, *id).within;
  facts.token = frame.at.token;
  facts.meta = RowMeta(item.meta);
  if (const fs::path* file = loader_.file_of(side, *id))
    facts.file = *file;
  else if (item.described_in >= 0)
    facts.file = frame.files[static_cast<size_t>(item.described_in)].path;
  const auto refuse = [&](Status status, std::string why) {
    // What cannot be read is trouble, whatever the other side lacks.
    const bool is_worse = status == Status::unreadable && row.status == Status::no_data;
    if (row.status == Status::compared || is_worse) {
      row.status = status;
      row.note = std::move(why);
    }
    return std::nullopt;
  };
  if (!item.trouble.empty()) return refuse(Status::unreadable, std::string(item.trouble));
  if (!item.data)
    return refuse(Status::no_data,
                  fmt::format("{} has no data in {}{}", item.name, name_of(side), why_no_data(item)));
  auto loaded = loader_.load(side, *id);
  if (!loaded && loaded.error().kind == ErrorKind::not_found)
    if (const auto left = loader_.find_statistics(side, *id)) {
      facts.meta = RowMeta(*left->meta);
      facts.computed = keep_stated(*left->stats);
      return refuse(Status::no_data, fmt::format("{} has statistics only in {}", item.name, name_of(side)));
    }
  if (!loaded) return refuse(Status::unreadable, loaded.error().message);
  // Nothing else would read what other ranks hold of a tensor that stands alone.
  const bool is_alone = !row.pair.mine || !row.pair.golden;
  for (size_t rank = 0; is_alone && rank < item.shards().size(); ++rank)
    if (const auto shard = loader_.load_shard(side, *id, rank); !shard)
      return refuse(Status::unreadable, shard.error().message);
  // A dump that describes its tensors names a file for each: what else is in it is not what was dumped.
  const bool is_named_by_dump = item.stated != nullptr && !item.stated->data_name.empty();
  // … while indexing, and has warned.
  const bool was_opened_before = !is_named_by_dump && item.meta != nullptr;
  if (is_named_by_dump) {
    if (loaded->tensors != 1)
      return refuse(Status::unreadable, fmt::format("{}: holds {} tensors where the dump has one",
                                                    display(facts.file), loaded->tensors));
    for (const Remark& remark : loaded->warnings)
      if (remark.kind == Remark::Kind::refused) return refuse(Status::unreadable, remark.text);
  } else if (!was_opened_before) {
    if (loaded->tensors != 1)
      return refuse(Status::unreadable, fmt::format("{}: holds {} tensors where its name promises one",
                                                    display(facts.file), loaded->tensors));
  }
  if (!was_opened_before && remarking == Remarking::done)
    for (const Remark& remark : loaded->warnings) {
      log::warn("{}", remark.text);
      row.left_out += remark.count;
    }
  if (prepare_) {
    auto prepared = prepare_(side, facts.file, loaded->data);
    row.is_unprepared |= !prepared;
    if (!prepared) return refuse(Status::unreadable, prepared.error().message);
    loaded->data = std::move(*prepared);
  }
  if (checks_claims_)
    if (std::string why = contradiction_of_type(item, loaded->data->meta, facts.file); !why.empty())
      return refuse(Status::unreadable, std::move(why));
  Result<Made> made = make(stands_for, side, *id, row.pair, std::move(loaded->data));
  if (!made) {
    const ErrorKind kind = made.error().kind;
    row.is_excused |= kind == ErrorKind::unsupported;  // nobody can compute it: no fault of the dump
    const bool has_none = kind == ErrorKind::not_found || kind == ErrorKind::unsupported;
    return refuse(has_none ? Status::no_data : Status::unreadable, made.error().message);
  }
  facts.meta = (made->quantised != nullptr ? made->quantised->own : made->own())->meta;
  if (statistics_ == SideStatistics::own_type) {
    const auto side_sums = gather_one(*made->own());
    if (!side_sums) return refuse(Status::unreadable, side_sums.error().message);
    facts.measured = numpy_statistics(*side_sums, facts.meta->dtype);
  }
  return std::move(*made);
}

Result<Made> SideTaker::make(Side stands_for, Side side, const ItemId& id, const Pair& pair,
                             OperandPtr loaded) const {
  if (const Plan* const plan = pair.plan(stands_for)) return plans_.run(*plan, std::move(loaded));
  Made as_it_stands;
  as_it_stands.parts.push_back(plans_.spread(side, id, std::move(loaded)));
  return as_it_stands;
}

}  // namespace assay
