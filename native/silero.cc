// Silero VAD's forward pass. The network and the layout of its weights are described in
// src/providers/vad/silero-model.ts; the twins are silero-forward.ts and the kernels beside it.
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
template <typename Width>
constexpr int kLanes = sizeof(typename Width::Floats) / sizeof(float);

typedef Narrow::Floats Frames;  // the 4 spectra side by side

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

// ---- the spectra: 256 real points as 128 complex ones, all four frames at once

constexpr int kPoints = 128;

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

ALWAYS_INLINE Frames gather(const float* signal, int at) {
  return Frames{signal[at], signal[at + 128], signal[at + 256], signal[at + 384]} * weights[kAnalysis + at];
}

// `rows` receives 4 rows of 129 magnitudes.
ALWAYS_INLINE void spectra(const float* signal, float* rows) {
  Frames re[kPoints], im[kPoints];
  for (int i = 0; i < kPoints; i++) {
    const int at = 2 * tables.reversed[i];
    re[i] = gather(signal, at);
    im[i] = gather(signal, at + 1);
  }
  for (int half = 1; half < kPoints; half *= 2) {
    const int step = kPoints / half;
    for (int start = 0; start < kPoints; start += 2 * half) {
      for (int j = 0; j < half; j++) {
        const float c = tables.cosine[j * step], s = tables.sine[j * step];
        const int top = start + j, bottom = top + half;
        const Frames real = re[bottom] * c - im[bottom] * s;
        const Frames imaginary = re[bottom] * s + im[bottom] * c;
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
    const Frames evenRe = re[a] + re[b], evenIm = im[a] - im[b];
    const Frames oddRe = im[a] + im[b], oddIm = re[b] - re[a];
    const Frames real = evenRe + oddRe * c - oddIm * s;
    const Frames imaginary = evenIm + oddRe * s + oddIm * c;
    const Frames power = real * real + imaginary * imaginary;
    for (int frame = 0; frame < 4; frame++) rows[frame * kBins + bin] = 0.5f * std::sqrt(power[frame]);
  }
}

// ---- the layers

// out[row][o] = bias[o] + sum of weights[o][i] * x[row][i]. Each weight is read once for all Rows; Chains sums that run
// beside one another hide the latency of the multiplications.
template <typename Width, int Rows, int Chains, bool Relu>
ALWAYS_INLINE void dense(int weightsAt, int biasAt, int inputs, int outputs, const float* x, int xStride, float* out,
                         int outStride) {
  using V = typename Width::Floats;
  constexpr int kParts = kBlock / kLanes<Width>;
  const float* w = weights + weightsAt;
  for (int block = 0; block < outputs; block += kBlock) {
    V sums[Rows][Chains][kParts] = {};
    for (int i = 0; i < inputs; i += Chains) {
      for (int chain = 0; chain < Chains; chain++, w += kBlock) {
        for (int row = 0; row < Rows; row++) {
          const float value = x[row * xStride + i + chain];
          for (int part = 0; part < kParts; part++) {
            sums[row][chain][part] += load<V>(w + part * kLanes<Width>) * value;
          }
        }
      }
    }
    for (int row = 0; row < Rows; row++) {
      for (int part = 0; part < kParts; part++) {
        const int at = block + part * kLanes<Width>;
        V sum = load<V>(weights + biasAt + at);
        for (int chain = 0; chain < Chains; chain++) sum += sums[row][chain][part];
        const V zero = {};
        store(out + row * outStride + at, Relu ? (sum > zero ? sum : zero) : sum);
      }
    }
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

template <typename Width>
ALWAYS_INLINE float windowBody(float* state, const int16_t* samples) {
  constexpr int kEnd = kContext + kWindow;
  float signal[kEnd + kContext];
  std::memcpy(signal, state, kContext * sizeof(float));
  for (int i = 0; i < kWindow; i++) signal[kContext + i] = samples[i] * (1.0f / 32768);
  for (int i = 0; i < kContext; i++) signal[kEnd + i] = signal[kEnd - 2 - i];
  std::memcpy(state, signal + kWindow, kContext * sizeof(float));

  float magnitudes[6 * kBins], first[5 * 128], second[2 * 64], third[64], recurrent[2 * kUnits], gates[4 * kUnits];
  std::fill_n(magnitudes, kBins, 0.0f);
  spectra(signal, magnitudes + kBins);
  std::fill_n(magnitudes + 5 * kBins, kBins, 0.0f);
  dense<Width, 4, 1, true>(kFirst, kFirstBias, 3 * kBins, 128, magnitudes, kBins, first + 128, 128);
  std::fill_n(first, 128, 0.0f);
  dense<Width, 2, 2, true>(kSecond, kSecondBias, 3 * 128, 64, first, 2 * 128, second, 64);
  dense<Width, 1, 4, true>(kThird, kThirdBias, 2 * 64, 64, second, 0, third, 0);
  dense<Width, 1, 4, true>(kFourth, kFourthBias, 64, kUnits, third, 0, recurrent, 0);

  float* hidden = state + kContext;
  std::memcpy(recurrent + kUnits, hidden, kUnits * sizeof(float));
  dense<Width, 1, 4, false>(kLstm, kLstmBias, 2 * kUnits, 4 * kUnits, recurrent, 0, gates, 0);
  const float sum = weights[kOutputBias] + remember<Width>(gates, hidden, hidden + kUnits);
  return 1.0f / (1.0f + std::exp(-sum));
}

TARGET_AVX2 float windowAvx2(float* state, const int16_t* samples) { return windowBody<Wide>(state, samples); }
float windowPlain(float* state, const int16_t* samples) { return windowBody<Narrow>(state, samples); }
const auto window = hasAvx2() ? windowAvx2 : windowPlain;

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

// sileroWindow(state: Float32Array, samples: Int16Array): number
Napi::Value sileroWindow(const Napi::CallbackInfo& info) {
  Span<float> state;
  Span<int16_t> samples;
  if (!readArray(info, 0, "state", state, kState)) return info.Env().Undefined();
  if (!readArray(info, 1, "samples", samples, kWindow)) return info.Env().Undefined();
  if (!weightsLoaded) {
    Napi::Error::New(info.Env(), "sileroLoad has not been called").ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Napi::Number::New(info.Env(), window(state.data, samples.data));
}

}  // namespace

void registerSilero(Napi::Env env, Napi::Object exports) {
  exports.Set("sileroLoad", Napi::Function::New(env, sileroLoad, "sileroLoad"));
  exports.Set("sileroWindow", Napi::Function::New(env, sileroWindow, "sileroWindow"));
}
