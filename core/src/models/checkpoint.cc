// SPDX-License-Identifier: Apache-2.0
#include "headlens/checkpoint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/words.h"
#include "files/safetensors_header.h"

namespace headlens {
namespace {

/// One file: the part that is being filled, and how much of it is filled.
class Shard {
 public:
  explicit Shard(std::optional<Index> byte_length) : byte_length_(byte_length) {}

  bool complete() const { return stage_ == Stage::kTensors && entry_ == header_.entries.size(); }

  std::span<std::byte> Next() {
    const std::span<std::byte> whole = Part();
    return whole.subspan(static_cast<std::size_t>(filled_));
  }

  /// Calls `announce` with the size of a header, and of all data, before they are allocated, and `keep` with each
  /// tensor when it is complete.
  template <class Announce, class Keep>
  void Advance(Index count, const Announce& announce, const Keep& keep) {
    filled_ += count;
    if (filled_ < static_cast<Index>(Part().size())) return;
    filled_ = 0;
    if (stage_ == Stage::kLength) {
      ReadLength(announce);
    } else if (stage_ == Stage::kHeader) {
      ReadHeader(announce);
    } else {
      keep(header_.entries[entry_++], std::move(bytes_));
    }
    StartTensor(keep);
  }

 private:
  enum class Stage { kLength, kHeader, kTensors };

  std::span<std::byte> Part() {
    if (stage_ == Stage::kLength) return length_;
    if (complete() || !bytes_) return {};  // after an error there are no bytes
    return {bytes_->data(), static_cast<std::size_t>(bytes_->size())};
  }

  template <class Announce>
  void ReadLength(const Announce& announce) {
    const auto rest = Rest(static_cast<Index>(kSafetensorsLengthBytes));
    const Index length = ReadSafetensorsLength(length_, rest);
    announce(length);
    bytes_ = std::make_shared<Buffer<std::byte>>(length);
    stage_ = Stage::kHeader;
  }

  template <class Announce>
  void ReadHeader(const Announce& announce) {
    const auto length = static_cast<std::size_t>(bytes_->size());
    header_ = ParseSafetensorsHeader({reinterpret_cast<const char*>(bytes_->data()), length},
                                     Rest(static_cast<Index>(kSafetensorsLengthBytes + length)));
    announce(header_.data_size);
    bytes_.reset();
    stage_ = Stage::kTensors;
  }

  /// Makes room for the next tensor. Empty tensors are complete at once.
  template <class Keep>
  void StartTensor(const Keep& keep) {
    if (stage_ != Stage::kTensors) return;
    for (; !complete(); ++entry_) {
      const auto& entry = header_.entries[entry_];
      bytes_ = std::make_shared<Buffer<std::byte>>(entry.end - entry.begin);
      if (entry.end > entry.begin) return;
      keep(entry, std::move(bytes_));
    }
  }

  /// The number of bytes after the first `from`, when the length is known.
  std::optional<Index> Rest(Index from) const {
    if (!byte_length_) return std::nullopt;
    return *byte_length_ - from;
  }

  std::optional<Index> byte_length_;
  Stage stage_ = Stage::kLength;
  Index filled_ = 0;  // of the part that is coming in now
  std::array<std::byte, kSafetensorsLengthBytes> length_{};
  std::shared_ptr<Buffer<std::byte>> bytes_;  // the header, and then each tensor in turn
  SafetensorsHeader header_;
  std::size_t entry_ = 0;
};

}  // namespace

struct Checkpoint::State {
  explicit State(Index limit) : left(limit) {}

  Shard& shard(int file) {
    if (file < 0 || static_cast<std::size_t>(file) >= shards.size()) {
      throw ValueError("`file`", file, "what `Begin` returned");
    }
    return shards[static_cast<std::size_t>(file)];
  }

  void Announce(Index bytes) {
    if (bytes > left) {
      throw Wrong(ErrorCode::kMemory, "the weights", "need", {bytes, " more bytes"},
                  {"at most ", left, ", which are left of the limit"});
    }
    left -= bytes;
  }

  void Keep(const SafetensorsHeader::Entry& entry, std::shared_ptr<Buffer<std::byte>> bytes) {
    const RawTensor raw{entry.dtype, entry.shape, bytes->data()};
    if (!parameters.emplace(entry.name, TakenTensor(raw, std::move(bytes))).second) {
      throw Wrong(ErrorCode::kFormat, {"safetensors: tensor ", Quoted(entry.name)}, "is", "in two files", "one");
    }
  }

  Index left;
  std::vector<Shard> shards;
  std::map<std::string, TakenTensor, std::less<>> parameters;
};

Checkpoint::Checkpoint(Index max_bytes) : state_(std::make_unique<State>(max_bytes)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

int Checkpoint::Begin(std::optional<Index> byte_length) {
  if (byte_length && *byte_length < static_cast<Index>(kSafetensorsLengthBytes)) {
    throw SizeError(*byte_length);
  }
  state_->shards.emplace_back(byte_length);
  return static_cast<int>(state_->shards.size()) - 1;
}

std::span<std::byte> Checkpoint::Next(int file) { return state_->shard(file).Next(); }

void Checkpoint::Advance(int file, Index count) {
  Shard& shard = state_->shard(file);
  if (count < 0 || count > static_cast<Index>(shard.Next().size())) {
    throw ValueError("`count`", count, {"0 to ", shard.Next().size()});
  }
  if (count == 0) return;
  shard.Advance(
      count, [this](Index bytes) { state_->Announce(bytes); },
      [this](const auto& entry, auto bytes) { state_->Keep(entry, std::move(bytes)); });
}

void Checkpoint::Append(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> next = Next(file);
    if (next.empty()) throw SurplusError(static_cast<Index>(bytes.size()));
    const std::size_t count = std::min(next.size(), bytes.size());
    std::memcpy(next.data(), bytes.data(), count);
    Advance(file, static_cast<Index>(count));
    bytes = bytes.subspan(count);
  }
}

StateDict Checkpoint::Parameters() {
  for (std::size_t i = 0; i < state_->shards.size(); ++i) {
    if (!state_->shards[i].complete())
      throw Wrong(ErrorCode::kFormat, {"safetensors: file ", i}, "is", "cut off", "all of its tensors");
  }
  auto& parameters = state_->parameters;
  return StateDict(
      [&parameters](std::string_view name) -> std::optional<TakenTensor> {
        const auto it = parameters.find(name);
        if (it == parameters.end()) return std::nullopt;
        TakenTensor taken = std::move(it->second);
        parameters.erase(it);
        return taken;
      },
      [&parameters](std::string_view name) { return parameters.find(name) != parameters.end(); });
}

}  // namespace headlens
