#include "kernels.h"

void registerSilero(Napi::Env env, Napi::Object exports) {}
