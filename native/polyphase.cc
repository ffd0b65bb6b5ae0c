// The inner loop of resampling, described in src/audio/dsp/polyphase.ts, where its twin is. Coefficients and samples are
// whole numbers in doubles and small enough that every sum is exact, so the order of summing changes nothing.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "arguments.h"
#include "dispatch.h"
#include "kernels.h"

namespace {

constexpr double kScale = 1 << 24;
constexpr int64_t kMost = 1 << 24;

typedef double Lanes __attribute__((vector_size(32)));

ALWAYS_INLINE Lanes load(const double* from) {
  Lanes value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

struct Job {
  const double* history;
  const double* coefficients;
  int16_t* out;
  int64_t count, start, phase, phases, step, rows, taps;
};

/// `taps` is a multiple of 4.
ALWAYS_INLINE double dot(const double* x, const double* h, int64_t taps) {
  Lanes a{}, b{};
  int64_t i = 0;
  for (; i + 8 <= taps; i += 8) {
    a += load(x + i) * load(h + i);
    b += load(x + i + 4) * load(h + i + 4);
  }
  if (i < taps) a += load(x + i) * load(h + i);
  a += b;
  return (a[0] + a[1]) + (a[2] + a[3]);
}

ALWAYS_INLINE int16_t rounded(double sum) {
  const double value = std::floor(sum / kScale + 0.5);
  return static_cast<int16_t>(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
}

constexpr int kTogether = 8;

/// So many outputs of one row, `step` samples apart: each coefficient is loaded once for all of them.
ALWAYS_INLINE void together(const double* x, int64_t step, const double* h, int64_t taps, int16_t* out, int64_t apart) {
  Lanes sums[kTogether] = {};
  for (int64_t i = 0; i < taps; i += 4) {
    const Lanes coefficients = load(h + i);
    for (int n = 0; n < kTogether; n++) sums[n] += load(x + n * step + i) * coefficients;
  }
  for (int n = 0; n < kTogether; n++) {
    out[n * apart] = rounded((sums[n][0] + sums[n][1]) + (sums[n][2] + sums[n][3]));
  }
}

ALWAYS_INLINE void runBody(const Job& job) {
  const int64_t cycle = std::min(job.phases, job.count);
  for (int64_t first = 0; first < cycle; first++) {
    // The outputs of one phase: every `phases`-th, `step` samples apart.
    const int64_t at = job.phase + first * job.step;
    const int64_t phase = at % job.phases;
    const int64_t row = job.phases == job.rows ? phase : phase * job.rows / job.phases;
    const double* h = job.coefficients + row * job.taps;
    const double* x = job.history + job.start + at / job.phases;
    int64_t k = first;
    for (; k + (kTogether - 1) * job.phases < job.count; k += kTogether * job.phases, x += kTogether * job.step) {
      together(x, job.step, h, job.taps, job.out + k, job.phases);
    }
    for (; k < job.count; k += job.phases, x += job.step) job.out[k] = rounded(dot(x, h, job.taps));
  }
}

TARGET_AVX2 void runAvx2(const Job& job) { runBody(job); }
void runPlain(const Job& job) { runBody(job); }
const auto run = hasAvx2() ? runAvx2 : runPlain;

// polyphase(history: Float64Array, coefficients: Float64Array, out: Int16Array, count, start, phase, phases, step, rows)
napi_value Polyphase(napi_env env, napi_callback_info raw) {
  const Arguments<9> info(env, raw);
  Span<double> history, coefficients;
  Span<int16_t> out;
  Job job{};
  if (!readArray(info, 0, "history", history)) return nullptr;
  if (!readArray(info, 1, "coefficients", coefficients)) return nullptr;
  if (!readArray(info, 2, "out", out)) return nullptr;
  if (!readInteger(info, 3, "count", 0, static_cast<int64_t>(out.length), job.count)) return nullptr;
  if (!readInteger(info, 4, "start", 0, static_cast<int64_t>(history.length), job.start)) return nullptr;
  if (!readInteger(info, 6, "phases", 1, kMost, job.phases)) return nullptr;
  if (!readInteger(info, 5, "phase", 0, job.phases - 1, job.phase)) return nullptr;
  if (!readInteger(info, 7, "step", 1, kMost, job.step)) return nullptr;
  if (!readInteger(info, 8, "rows", 1, job.phases, job.rows)) return nullptr;
  job.taps = static_cast<int64_t>(coefficients.length) / job.rows;
  if (job.taps == 0 || job.taps % 4 != 0 || job.taps * job.rows != static_cast<int64_t>(coefficients.length)) {
    refuseRange(info, "coefficients must be rows of a multiple of 4");
    return nullptr;
  }
  if (job.count == 0) return nullptr;
  const int64_t last = job.start + (job.phase + (job.count - 1) * job.step) / job.phases;
  if (last + job.taps > static_cast<int64_t>(history.length)) {
    refuseRange(info, "history is too short for " + std::to_string(job.count) + " outputs");
    return nullptr;
  }
  job.history = history.data;
  job.coefficients = coefficients.data;
  job.out = out.data;
  run(job);
  return nullptr;
}

}  // namespace

void registerPolyphase(Napi::Env env, Napi::Object exports) {
  napi_value polyphase = nullptr;
  napi_create_function(env, "polyphase", NAPI_AUTO_LENGTH, Polyphase, nullptr, &polyphase);
  exports.Set("polyphase", Napi::Value(env, polyphase));
}
