// What addon.cc puts together: one line for each kernel file.
#pragma once
#include <napi.h>

void registerG722(Napi::Env env, Napi::Object exports);
void registerPolyphase(Napi::Env env, Napi::Object exports);
void registerSilero(Napi::Env env, Napi::Object exports);
void registerUdp(Napi::Env env, Napi::Object exports);
