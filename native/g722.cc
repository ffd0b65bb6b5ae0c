// G.722 at 64 kbit/s, bit for bit as src/audio/codecs/g722.ts, which tells where each figure of the standard is from.
#include <napi.h>

#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "dispatch.h"
#include "kernels.h"

namespace {

constexpr int kPairs = 12;
constexpr int kPast = 2 * kPairs - 2;
/// Samples that are filtered at a time.
constexpr int kStride = 320;

constexpr int16_t kQmf[kPairs] = {3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11};
constexpr int16_t kMantissas[32] = {2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543,
                                    2599, 2656, 2714, 2774, 2834, 2896, 2960, 3025, 3091, 3158, 3228,
                                    3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008};
/// With three of nought in front, which any magnitude reaches: vectors are full.
constexpr int32_t kLowLevels[32] = {0,   0,   0,   35,  72,  110, 150,  190,  233,  276,  323,
                                    370, 422, 473, 530, 587, 650, 714,  786,  858,  940,  1023,
                                    1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919};
constexpr int16_t kLow4[16] = {0,     -20456, -12896, -8968, -6288, -4240, -2584, -1200,
                               20456, 12896,  8968,   6288,  4240,  2584,  1200,  0};
constexpr int16_t kLow6[64] = {
    -136,   -136,   -136,   -136,   -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232,
    -9360,  -8576,  -7856,  -7192,  -6576,  -6000,  -5456,  -4944,  -4464,  -4008,  -3576,  -3168,  -2776,
    -2400,  -2032,  -1688,  -1360,  -1040,  -728,   24808,  21904,  19008,  16704,  14984,  13512,  12280,
    11192,  10232,  9360,   8576,   7856,   7192,   6576,   6000,   5456,   4944,   4464,   4008,   3576,
    3168,   2776,   2400,   2032,   1688,   1360,   1040,   728,    432,    136,    -432,   -136};
constexpr int16_t kLowGrowth[16] = {-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60};
constexpr int32_t kHighLevel = 564;
constexpr int16_t kHigh2[4] = {-7408, -1616, 7408, 1616};
constexpr int16_t kHighGrowth[4] = {798, -214, 798, -214};
constexpr int kHighShift = 6;

ALWAYS_INLINE int32_t saturated(int32_t value) { return std::clamp(value, -32768, 32767); }
ALWAYS_INLINE int32_t limited(int32_t value) { return std::clamp(value, -16384, 16383); }
ALWAYS_INLINE int32_t product(int32_t factor, int32_t sample) { return (factor * saturated(2 * sample)) >> 15; }

/// What a band remembers: src/audio/codecs/g722-band.ts says what each is.
struct Memory {
  int32_t logStep, predicted, fromZeros, out1, out2, partial1, partial2, pole1, pole2;
  int32_t differences[6], zeros[6];
};

template <int MaxLogStep, int Shift>
struct Band : Memory {
  int32_t step;

  __attribute__((always_inline)) explicit Band(const Memory& memory) : Memory(memory) { scale(0, memory.logStep); }

  __attribute__((always_inline)) void adapt(int32_t difference, int32_t growth) {
    scale(growth, (logStep * 127) >> 7);
    const int32_t partial = saturated(fromZeros + difference);
    adaptPoles(partial);
    const int32_t by = difference == 0 ? 0 : 128;
    for (int i = 0; i < 6; i++) {
      zeros[i] = saturated(((differences[i] ^ difference) < 0 ? -by : by) + ((zeros[i] * 32640) >> 15));
    }
    out2 = out1;
    out1 = saturated(predicted + difference);
    partial2 = partial1;
    partial1 = partial;
    std::memmove(differences + 1, differences, 5 * sizeof(int32_t));
    differences[0] = difference;
    const int32_t fromPoles = saturated(product(pole1, out1) + product(pole2, out2));
    int32_t sum = 0;
    for (int i = 0; i < 6; i++) sum += product(zeros[i], differences[i]);
    fromZeros = saturated(sum);
    predicted = saturated(fromPoles + fromZeros);
  }

 private:
  __attribute__((always_inline)) void scale(int32_t growth, int32_t before) {
    logStep = std::clamp(before + growth, 0, MaxLogStep);
    const int32_t mantissa = kMantissas[(logStep >> 6) & 31];
    const int down = Shift - (logStep >> 11);
    step = (down < 0 ? mantissa << -down : mantissa >> down) * 4;
  }

  __attribute__((always_inline)) void adaptPoles(int32_t partial) {
    const bool turned1 = (partial ^ partial1) < 0;
    const bool turned2 = (partial ^ partial2) < 0;
    const int32_t first = saturated(pole1 * 4);
    const int32_t turned = turned1 ? first : -first;
    int32_t second = (turned2 ? -128 : 128) + (std::min(turned, 32767) >> 7);
    second = std::clamp(second + ((pole2 * 32512) >> 15), -12288, 12288);
    const int32_t limit = saturated(15360 - second);
    const int32_t grown = saturated((turned1 ? -192 : 192) + ((pole1 * 32640) >> 15));
    pole1 = std::clamp(grown, -limit, limit);
    pole2 = second;
  }
};

using LowBand = Band<18432, 8>;
using HighBand = Band<22528, 10>;

/// What a coder remembers between calls; zeros at its beginning.
struct State {
  Memory low, high;
  int32_t line[kPast];
};
constexpr size_t kState = sizeof(State) / sizeof(int32_t);
static_assert(kState == 64, "src/audio/codecs/g722-coders.ts says so too");

ALWAYS_INLINE void adaptLow(LowBand& band, int code) {
  const int four = code >> 2;
  band.adapt((band.step * kLow4[four]) >> 15, kLowGrowth[four]);
}

ALWAYS_INLINE void adaptHigh(HighBand& band, int code) { band.adapt((band.step * kHigh2[code]) >> 15, kHighGrowth[code]); }

ALWAYS_INLINE int lowCode(LowBand& band, int32_t sample) {
  const int32_t difference = saturated(sample - band.predicted);
  const int32_t magnitude = difference >= 0 ? difference : -(difference + 1);
  // Levels grow, so that it is enough to count those that are reached.
  int32_t least = -2;
  for (int i = 0; i < 32; i++) least += magnitude >= (kLowLevels[i] * band.step) >> 12 ? 1 : 0;
  const int code = difference < 0 ? (least < 3 ? 64 - least : 34 - least) : 62 - least;
  adaptLow(band, code);
  return code;
}

ALWAYS_INLINE int highCode(HighBand& band, int32_t sample) {
  const int32_t difference = saturated(sample - band.predicted);
  const int32_t magnitude = difference >= 0 ? difference : -(difference + 1);
  const bool isFar = magnitude >= (kHighLevel * band.step) >> 12;
  const int code = (difference < 0 ? 1 : 3) - (isFar ? 1 : 0);
  adaptHigh(band, code);
  return code;
}

/// The samples of a stride behind those that are still in the filter.
struct Line {
  int16_t samples[kPast + kStride];

  explicit Line(const State& state) { std::copy_n(state.line, kPast, samples); }
  void moveOn(int count) { std::memmove(samples, samples + count, kPast * sizeof(int16_t)); }
  void keep(State& state) const { std::copy_n(samples, kPast, state.line); }

  __attribute__((always_inline)) void filter(int at, int32_t& even, int32_t& odd) const {
    even = odd = 0;
    for (int i = 0; i < kPairs; i++) {
      odd += samples[at + 2 * i] * kQmf[i];
      even += samples[at + 2 * i + 1] * kQmf[kPairs - 1 - i];
    }
  }
};

ALWAYS_INLINE void encodeBody(State& state, const int16_t* samples, uint8_t* out, size_t bytes) {
  LowBand low(state.low);
  HighBand high(state.high);
  Line line(state);
  for (size_t from = 0; from < 2 * bytes; from += kStride) {
    const int count = static_cast<int>(std::min<size_t>(kStride, 2 * bytes - from));
    std::copy_n(samples + from, count, line.samples + kPast);
    for (int at = 0; at < count; at += 2) {
      int32_t even, odd;
      line.filter(at, even, odd);
      const int lower = lowCode(low, (even + odd) >> 14);
      *out++ = static_cast<uint8_t>(lower | highCode(high, (even - odd) >> 14) << kHighShift);
    }
    line.moveOn(count);
  }
  state.low = low;
  state.high = high;
  line.keep(state);
}

ALWAYS_INLINE void decodeBody(State& state, const uint8_t* codes, int16_t* out, size_t bytes) {
  LowBand low(state.low);
  HighBand high(state.high);
  Line line(state);
  for (size_t from = 0; from < 2 * bytes; from += kStride) {
    const int count = static_cast<int>(std::min<size_t>(kStride, 2 * bytes - from));
    for (int at = 0; at < count; at += 2) {
      const int lowPart = *codes & 0x3f, highPart = *codes >> kHighShift;
      codes++;
      const int32_t lower = limited(low.predicted + ((low.step * kLow6[lowPart]) >> 15));
      adaptLow(low, lowPart);
      const int32_t upper = limited(high.predicted + ((high.step * kHigh2[highPart]) >> 15));
      adaptHigh(high, highPart);
      line.samples[kPast + at] = static_cast<int16_t>(lower + upper);
      line.samples[kPast + at + 1] = static_cast<int16_t>(lower - upper);
    }
    for (int at = 0; at < count; at += 2) {
      int32_t first, second;
      line.filter(at, first, second);
      *out++ = static_cast<int16_t>(saturated(first >> 11));
      *out++ = static_cast<int16_t>(saturated(second >> 11));
    }
    line.moveOn(count);
  }
  state.low = low;
  state.high = high;
  line.keep(state);
}

TARGET_AVX2 void encodeAvx2(State& state, const int16_t* samples, uint8_t* out, size_t bytes) {
  encodeBody(state, samples, out, bytes);
}
void encodePlain(State& state, const int16_t* samples, uint8_t* out, size_t bytes) {
  encodeBody(state, samples, out, bytes);
}
const auto encode = hasAvx2() ? encodeAvx2 : encodePlain;

TARGET_AVX2 void decodeAvx2(State& state, const uint8_t* codes, int16_t* out, size_t bytes) {
  decodeBody(state, codes, out, bytes);
}
void decodePlain(State& state, const uint8_t* codes, int16_t* out, size_t bytes) {
  decodeBody(state, codes, out, bytes);
}
const auto decode = hasAvx2() ? decodeAvx2 : decodePlain;

// g722Encode(state: Int32Array, samples: Int16Array, out: Uint8Array)
Napi::Value G722Encode(const Napi::CallbackInfo& info) {
  const Napi::Value nothing = info.Env().Undefined();
  Span<int32_t> state;
  Span<int16_t> samples;
  Span<uint8_t> out;
  if (!readArray(info, 0, "state", state, kState) || !readArray(info, 1, "samples", samples)) return nothing;
  if (!readArray(info, 2, "out", out, samples.length / 2)) return nothing;
  encode(*reinterpret_cast<State*>(state.data), samples.data, out.data, out.length);
  return nothing;
}

// g722Decode(state: Int32Array, codes: Uint8Array, out: Int16Array)
Napi::Value G722Decode(const Napi::CallbackInfo& info) {
  const Napi::Value nothing = info.Env().Undefined();
  Span<int32_t> state;
  Span<uint8_t> codes;
  Span<int16_t> out;
  if (!readArray(info, 0, "state", state, kState) || !readArray(info, 1, "codes", codes)) return nothing;
  if (!readArray(info, 2, "out", out, 2 * codes.length)) return nothing;
  decode(*reinterpret_cast<State*>(state.data), codes.data, out.data, codes.length);
  return nothing;
}

}  // namespace

void registerG722(Napi::Env env, Napi::Object exports) {
  exports.Set("g722Encode", Napi::Function::New(env, G722Encode, "g722Encode"));
  exports.Set("g722Decode", Napi::Function::New(env, G722Decode, "g722Decode"));
}
