// One portable build, with the fast instructions where the processor has them. A kernel's body is written once, in plain
// loops or GCC/Clang vector types, as an ALWAYS_INLINE function and wrapped twice:
//
//   ALWAYS_INLINE void mixBody(...) { ... }
//   TARGET_AVX2 static void mixAvx2(...) { mixBody(...); }
//   static void mixPlain(...) { mixBody(...); }
//   static const auto mix = hasAvx2() ? mixAvx2 : mixPlain;
//
// The compiler inlines the body into each wrapper and uses the instructions that wrapper may use. On arm64 the plain one
// is NEON already. A body with vector types takes their width as a template parameter (see silero.cc): vectors wider
// than the registers run ten times slower.
//
// PARLEY_NATIVE=plain takes the plain ones everywhere; the tests use it.
#pragma once

#include <cstdlib>
#include <cstring>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
inline bool hasAvx2() {
  const char* wanted = std::getenv("PARLEY_NATIVE");
  if (wanted != nullptr && std::strcmp(wanted, "plain") == 0) return false;
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define TARGET_AVX2
inline bool hasAvx2() { return false; }
#endif
