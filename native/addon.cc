// The addon's table of contents: one register function for each kernel file, each adding its functions to `exports`.
// src/base/native.ts declares the same functions in TypeScript; each has a twin in WASM or TypeScript, or of Node's, that
// passes the same tests.
#include <napi.h>

#include "kernels.h"

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  registerG722(env, exports);
  registerPolyphase(env, exports);
  registerSilero(env, exports);
  registerUdp(env, exports);
  return exports;
}

NODE_API_MODULE(parley, Init)
