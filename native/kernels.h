// What addon.cc puts together: one line for each kernel file.
#pragma once
#include <napi.h>

void registerSilero(Napi::Env env, Napi::Object exports);
