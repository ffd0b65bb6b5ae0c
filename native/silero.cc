// Silero VAD's forward pass. The network and the layout of its weights are described in
// src/providers/vad/silero/silero-model.ts; the twins are silero-forward.ts and the kernels beside it.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "arguments.h"
#include "dispatch.h"
#include "kernels.h"

namespace {

constexpr int kWindow = 512;
constexpr int kContext = 64;
constexpr int kUnits = 128;
constexpr int kBins = 129;
constexpr int kState = kContext + 2 * kUnits;
constexpr int kBlock = 16;
/// Windows that are computed together.
constexpr int kTogether = 16;

// Offsets in floats, in the order of SILERO_LAYOUT.
constexpr int kAnalysis = 0;
constexpr int kFirst = kAnalysis + 256;
constexpr int kFirstBias = kFirst + 3 * kBins * 128;
constexpr int kSecond = kFirstBias + 128;
constexpr int kSecondBias = kSecond + 3 * 128 * 64;
constexpr int kThird = kSecondBias + 64;
constexpr int kThirdBias = kThird + 2 * 64 * 64;
constexpr int kFourth = kThirdBias + 64;
constexpr int kFourthBias = kFourth + 64 * kUnits;
constexpr int kLstm = kFourthBias + kUnits;
constexpr int kLstmBias = kLstm + 2 * kUnits * 4 * kUnits;
constexpr int kOutput = kLstmBias + 4 * kUnits;
constexpr int kOutputBias = kOutput + kUnits;
constexpr int kFloats = kOutputBias + 1;

// One copy for all threads of the process.
alignas(64) float weights[kFloats];
std::atomic<bool> weightsLoaded{false};
std::mutex weightsMutex;

// Numbers side by side, as many as one register holds: a compiler makes slow code of vectors that are wider.
struct Narrow {  // SSE2, NEON
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Integers __attribute__((vector_size(16)));
};
struct Wide {  // AVX2
  typedef float Floats __attribute__((vector_size(32)));
  typedef int32_t Integers __attribute__((vector_size(32)));
};
template <typename V>
constexpr int kLanesOf = sizeof(V) / sizeof(float);
template <typename Width>
constexpr int kLanes = kLanesOf<typename Width::Floats>;

template <typename V>
ALWAYS_INLINE V load(const float* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename V>
ALWAYS_INLINE void store(float* to, V value) {
  std::memcpy(to, &value, sizeof value);
}

// ---- the spectra: 256 real points as 128 complex ones, the four frames of a window side by side, and two windows' where
// registers are wide enough

constexpr int kPoints = 128;
constexpr int kFrames = 4;
constexpr int kSignal = kContext + kWindow + kContext;

struct Tables {
  alignas(16) float cosine[kPoints];  // of 2 pi i / 256
  alignas(16) float sine[kPoints];
  uint8_t reversed[kPoints];
  Tables() {
    for (int i = 0; i < kPoints; i++) {
      cosine[i] = static_cast<float>(std::cos(2 * M_PI * i / 256));
      sine[i] = static_cast<float>(-std::sin(2 * M_PI * i / 256));
      reversed[i] = 0;
      for (int bit = 0; bit < 7; bit++) reversed[i] |= ((i >> bit) & 1) << (6 - bit);
    }
  }
};
const Tables tables;

template <typename V>
ALWAYS_INLINE V gather(const float (*signals)[kSignal], int at) {
  V value;
  for (int lane = 0; lane < kLanesOf<V>; lane++) value[lane] = signals[lane / kFrames][at + 128 * (lane % kFrames)];
  return value * weights[kAnalysis + at];
}

// `rows` receive 4 rows of 129 magnitudes of each signal.
template <typename V>
ALWAYS_INLINE void spectra(const float (*signals)[kSignal], float* const* rows) {
  V re[kPoints], im[kPoints];
  for (int i = 0; i < kPoints; i++) {
    const int at = 2 * tables.reversed[i];
    re[i] = gather<V>(signals, at);
    im[i] = gather<V>(signals, at + 1);
  }
  for (int half = 1; half < kPoints; half *= 2) {
    const int step = kPoints / half;
    for (int start = 0; start < kPoints; start += 2 * half) {
      for (int j = 0; j < half; j++) {
        const float c = tables.cosine[j * step], s = tables.sine[j * step];
        const int top = start + j, bottom = top + half;
        const V real = re[bottom] * c - im[bottom] * s;
        const V imaginary = re[bottom] * s + im[bottom] * c;
        re[bottom] = re[top] - real;
        im[bottom] = im[top] - imaginary;
        re[top] += real;
        im[top] += imaginary;
      }
    }
  }
  // The even and the odd samples' spectra, taken apart and put together with a twist.
  for (int bin = 0; bin < kBins; bin++) {
    const int a = bin % kPoints, b = (kPoints - bin) % kPoints;
    const float c = bin < kPoints ? tables.cosine[a] : -1, s = bin < kPoints ? tables.sine[a] : 0;
    const V evenRe = re[a] + re[b], evenIm = im[a] - im[b];
    const V oddRe = im[a] + im[b], oddIm = re[b] - re[a];
    const V real = evenRe + oddRe * c - oddIm * s;
    const V imaginary = evenIm + oddIm * c + oddRe * s;
    V magnitude = real * real + imaginary * imaginary;
    for (int lane = 0; lane < kLanesOf<V>; lane++) magnitude[lane] = 0.5f * std::sqrt(magnitude[lane]);
    for (int lane = 0; lane < kLanesOf<V>; lane++) rows[lane / kFrames][lane % kFrames * kBins + bin] = magnitude[lane];
  }
}

// ---- the layers

// out[row][o] = bias[o] + sum of weights[o][i] * x[row][i], of Rows rows and one block of outputs. Chains: sums that run
// beside one another where the rows are too few to hide the latency of the multiplications.
template <typename Width, int Rows, int Chains, bool Relu>
ALWAYS_INLINE void product(const float* w, const float* bias, int inputs, const float* const* x, float* const* out,
                           int at) {
  using V = typename Width::Floats;
  constexpr int kParts = kBlock / kLanes<Width>;
  V sums[Rows][Chains][kParts] = {};
  for (int i = 0; i < inputs; i += Chains) {
    for (int chain = 0; chain < Chains; chain++, w += kBlock) {
      for (int row = 0; row < Rows; row++) {
        const float value = x[row][i + chain];
        for (int part = 0; part < kParts; part++) {
          sums[row][chain][part] += load<V>(w + part * kLanes<Width>) * value;
        }
      }
    }
  }
  for (int row = 0; row < Rows; row++) {
    for (int part = 0; part < kParts; part++) {
      V sum = load<V>(bias + part * kLanes<Width>);
      for (int chain = 0; chain < Chains; chain++) sum += sums[row][chain][part];
      const V zero = {};
      store(out[row] + at + part * kLanes<Width>, Relu ? (sum > zero ? sum : zero) : sum);
    }
  }
}

// All rows of a layer, block by block: the weights do not fit into a core's cache, a block of them does, and is read
// from further away once for all rows.
template <typename Width, bool Relu>
ALWAYS_INLINE void dense(int weightsAt, int biasAt, int inputs, int outputs, const float* const* x, float* const* out,
                         int rows) {
  const float* w = weights + weightsAt;
  for (int at = 0; at < outputs; at += kBlock, w += inputs * kBlock) {
    const float* bias = weights + biasAt + at;
    int row = 0;
    for (; row + 4 <= rows; row += 4) product<Width, 4, 1, Relu>(w, bias, inputs, x + row, out + row, at);
    if (row + 2 <= rows) {
      product<Width, 2, 2, Relu>(w, bias, inputs, x + row, out + row, at);
      row += 2;
    }
    if (row < rows) product<Width, 1, 4, Relu>(w, bias, inputs, x + row, out + row, at);
  }
}

// e^x within 2e-7 of its value: 2^n times a polynomial (the coefficients are Taylor's) on +-ln(2)/2.
template <typename Width, typename V = typename Width::Floats>
ALWAYS_INLINE V exponential(V x) {
  const V limit = V{} + 87.0f;
  x = x > limit ? limit : x;
  x = x < -limit ? -limit : x;
  const V rounded = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the fraction falls off the end
  const V n = rounded - 12582912.0f;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  V sum = r * (1.0f / 720) + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  typename Width::Integers bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits = (bits - 0x4B400000 + 127) << 23;
  V power;
  std::memcpy(&power, &bits, sizeof power);
  return sum * power;
}

template <typename Width, typename V = typename Width::Floats>
ALWAYS_INLINE V sigmoid(V x) {
  return 1.0f / (1.0f + exponential<Width>(-x));
}

template <typename Width, typename V = typename Width::Floats>
ALWAYS_INLINE V hyperbolicTangent(V x) {
  return 2.0f * sigmoid<Width>(2.0f * x) - 1.0f;
}

// Brings the LSTM's hidden and cell vectors up to date; gives the weighted sum of the positive hidden values.
template <typename Width, typename V = typename Width::Floats>
ALWAYS_INLINE float remember(const float* gates, float* hidden, float* cell) {
  const V zero = {};
  V sum = {};
  for (int i = 0; i < kUnits; i += kLanes<Width>) {
    const V input = sigmoid<Width>(load<V>(gates + i));
    const V forget = sigmoid<Width>(load<V>(gates + kUnits + i));
    const V candidate = hyperbolicTangent<Width>(load<V>(gates + 2 * kUnits + i));
    const V output = sigmoid<Width>(load<V>(gates + 3 * kUnits + i));
    const V kept = forget * load<V>(cell + i) + input * candidate;
    const V shown = output * hyperbolicTangent<Width>(kept);
    store(cell + i, kept);
    store(hidden + i, shown);
    sum += (shown > zero ? shown : zero) * load<V>(weights + kOutput + i);
  }
  float total = 0;
  for (int lane = 0; lane < kLanes<Width>; lane++) total += sum[lane];
  return total;
}

// What is computed of up to kTogether windows of as many streams; rows of padding stay zero.
struct Work {
  float signals[kTogether][kSignal];
  float magnitudes[kTogether][6 * kBins], first[kTogether][5 * 128], second[kTogether][2 * 64], third[kTogether][64];
  float recurrent[kTogether][2 * kUnits], gates[kTogether][4 * kUnits];
};

// The context, the window and its end mirrored; then the window's end becomes the next context.
ALWAYS_INLINE void readSignal(float* context, const int16_t* samples, float* signal) {
  constexpr int kEnd = kContext + kWindow;
  std::memcpy(signal, context, kContext * sizeof(float));
  for (int i = 0; i < kWindow; i++) signal[kContext + i] = samples[i] * (1.0f / 32768);
  for (int i = 0; i < kContext; i++) signal[kEnd + i] = signal[kEnd - 2 - i];
  std::memcpy(context, signal + kWindow, kContext * sizeof(float));
}

template <typename Width>
ALWAYS_INLINE void windowsBody(float* states, const int16_t* samples, int count, float* probabilities) {
  Work work;
  const float* x[4 * kTogether];
  float* out[4 * kTogether];
  for (int n = 0; n < count; n++) {
    readSignal(states + n * kState, samples + n * kWindow, work.signals[n]);
    float* magnitudes = work.magnitudes[n];
    std::fill_n(magnitudes, kBins, 0.0f);
    std::fill_n(magnitudes + 5 * kBins, kBins, 0.0f);
    std::fill_n(work.first[n], 128, 0.0f);
    out[n] = magnitudes + kBins;
  }
  constexpr int kSide = kLanes<Width> / kFrames;
  int spectraDone = 0;
  for (; spectraDone + kSide <= count; spectraDone += kSide) {
    spectra<typename Width::Floats>(work.signals + spectraDone, out + spectraDone);
  }
  if (spectraDone < count) spectra<Narrow::Floats>(work.signals + spectraDone, out + spectraDone);
  for (int n = 0; n < count; n++) {
    for (int frame = 0; frame < kFrames; frame++) {
      x[kFrames * n + frame] = work.magnitudes[n] + frame * kBins;
      out[kFrames * n + frame] = work.first[n] + (frame + 1) * 128;
    }
  }
  dense<Width, true>(kFirst, kFirstBias, 3 * kBins, 128, x, out, kFrames * count);
  for (int n = 0; n < count; n++) {
    for (int half = 0; half < 2; half++) {
      x[2 * n + half] = work.first[n] + half * 2 * 128;
      out[2 * n + half] = work.second[n] + half * 64;
    }
  }
  dense<Width, true>(kSecond, kSecondBias, 3 * 128, 64, x, out, 2 * count);
  for (int n = 0; n < count; n++) {
    x[n] = work.second[n];
    out[n] = work.third[n];
  }
  dense<Width, true>(kThird, kThirdBias, 2 * 64, 64, x, out, count);
  for (int n = 0; n < count; n++) {
    x[n] = work.third[n];
    out[n] = work.recurrent[n];
  }
  dense<Width, true>(kFourth, kFourthBias, 64, kUnits, x, out, count);
  for (int n = 0; n < count; n++) {
    std::memcpy(work.recurrent[n] + kUnits, states + n * kState + kContext, kUnits * sizeof(float));
    x[n] = work.recurrent[n];
    out[n] = work.gates[n];
  }
  dense<Width, false>(kLstm, kLstmBias, 2 * kUnits, 4 * kUnits, x, out, count);
  for (int n = 0; n < count; n++) {
    float* hidden = states + n * kState + kContext;
    const float sum = weights[kOutputBias] + remember<Width>(work.gates[n], hidden, hidden + kUnits);
    probabilities[n] = 1.0f / (1.0f + std::exp(-sum));
  }
}

TARGET_AVX2 void windowsAvx2(float* states, const int16_t* samples, int count, float* probabilities) {
  windowsBody<Wide>(states, samples, count, probabilities);
}
void windowsPlain(float* states, const int16_t* samples, int count, float* probabilities) {
  windowsBody<Narrow>(states, samples, count, probabilities);
}
const auto windows = hasAvx2() ? windowsAvx2 : windowsPlain;

// sileroLoad(weights: Float32Array): the first call in the process copies them, later ones find them there.
Napi::Value sileroLoad(const Napi::CallbackInfo& info) {
  Span<float> source;
  if (!readArray(info, 0, "weights", source, kFloats)) return info.Env().Undefined();
  const std::lock_guard<std::mutex> lock(weightsMutex);
  if (!weightsLoaded) {
    std::copy_n(source.data, kFloats, weights);
    weightsLoaded = true;
  }
  return info.Env().Undefined();
}

bool isLoaded(Napi::Env env) {
  if (!weightsLoaded) Napi::Error::New(env, "sileroLoad has not been called").ThrowAsJavaScriptException();
  return weightsLoaded;
}

// sileroWindow(state: Float32Array, samples: Int16Array): number
Napi::Value sileroWindow(const Napi::CallbackInfo& info) {
  Span<float> state;
  Span<int16_t> samples;
  if (!readArray(info, 0, "state", state, kState)) return info.Env().Undefined();
  if (!readArray(info, 1, "samples", samples, kWindow)) return info.Env().Undefined();
  if (!isLoaded(info.Env())) return info.Env().Undefined();
  float probability = 0;
  windows(state.data, samples.data, 1, &probability);
  return Napi::Number::New(info.Env(), probability);
}

// sileroWindows(states: Float32Array, samples: Int16Array, count: number, probabilities: Float32Array)
Napi::Value sileroWindows(const Napi::CallbackInfo& info) {
  const Napi::Value nothing = info.Env().Undefined();
  Span<float> states, probabilities;
  Span<int16_t> samples;
  int64_t count = 0;
  if (!readArray(info, 0, "states", states) || !readArray(info, 1, "samples", samples)) return nothing;
  if (!readArray(info, 3, "probabilities", probabilities)) return nothing;
  const size_t most = std::min({states.length / kState, samples.length / kWindow, probabilities.length});
  if (!readInteger(info, 2, "count", 0, static_cast<int64_t>(most), count) || !isLoaded(info.Env())) return nothing;
  for (int64_t at = 0; at < count; at += kTogether) {
    const int some = static_cast<int>(std::min<int64_t>(count - at, kTogether));
    windows(states.data + at * kState, samples.data + at * kWindow, some, probabilities.data + at);
  }
  return nothing;
}

}  // namespace

void registerSilero(Napi::Env env, Napi::Object exports) {
  exports.Set("sileroLoad", Napi::Function::New(env, sileroLoad, "sileroLoad"));
  exports.Set("sileroWindow", Napi::Function::New(env, sileroWindow, "sileroWindow"));
  exports.Set("sileroWindows", Napi::Function::New(env, sileroWindows, "sileroWindows"));
}
