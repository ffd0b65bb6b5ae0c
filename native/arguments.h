// Checks of the arguments that JavaScript passes. Each reader either fills its target or throws a TypeError or
// RangeError that names the argument, and returns whether it went well. A function reads all its arguments this way
// before it does any work:
//
//   Span<float> gain;
//   if (!readArray(info, 0, "gain", gain, 128)) return info.Env().Undefined();
#pragma once
#include <napi.h>

#include <cmath>
#include <cstdint>
#include <string>

template <typename T>
struct Span {
  T* data = nullptr;
  size_t length = 0;
};

template <typename T>
struct ArrayKind;
template <>
struct ArrayKind<float> {
  static constexpr napi_typedarray_type type = napi_float32_array;
  static constexpr const char* name = "Float32Array";
};
template <>
struct ArrayKind<double> {
  static constexpr napi_typedarray_type type = napi_float64_array;
  static constexpr const char* name = "Float64Array";
};
template <>
struct ArrayKind<int16_t> {
  static constexpr napi_typedarray_type type = napi_int16_array;
  static constexpr const char* name = "Int16Array";
};
template <>
struct ArrayKind<int32_t> {
  static constexpr napi_typedarray_type type = napi_int32_array;
  static constexpr const char* name = "Int32Array";
};
template <>
struct ArrayKind<uint8_t> {
  static constexpr napi_typedarray_type type = napi_uint8_array;
  static constexpr const char* name = "Uint8Array";
};

/// The arguments of a function that is called for every frame: `CallbackInfo` allocates memory where there are more than
/// six of them. It has as much of its interface as the readers need.
template <size_t Most>
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info) : env_(env), length_(Most) {
    if (napi_get_cb_info(env, info, &length_, values_, nullptr, nullptr) != napi_ok) length_ = 0;
  }
  Napi::Env Env() const { return env_; }
  size_t Length() const { return length_; }
  napi_value operator[](size_t index) const { return values_[index]; }

 private:
  napi_env env_;
  size_t length_;
  napi_value values_[Most] = {};
};

template <typename Info>
bool refuseType(const Info& info, const std::string& message) {
  Napi::TypeError::New(info.Env(), message).ThrowAsJavaScriptException();
  return false;
}

template <typename Info>
bool refuseRange(const Info& info, const std::string& message) {
  Napi::RangeError::New(info.Env(), message).ThrowAsJavaScriptException();
  return false;
}

/// A typed array of T of any length. The memory stays JavaScript's: it may be used until the function returns.
template <typename T, typename Info>
bool readArray(const Info& info, size_t index, const char* name, Span<T>& out) {
  napi_typedarray_type type{};
  size_t length = 0;
  void* data = nullptr;
  const bool isArray = index < info.Length() && napi_get_typedarray_info(info.Env(), info[index], &type, &length, &data,
                                                                          nullptr, nullptr) == napi_ok;
  if (!isArray || type != ArrayKind<T>::type) {
    return refuseType(info, std::string(name) + " must be a " + ArrayKind<T>::name);
  }
  out.data = static_cast<T*>(data);
  out.length = length;
  return true;
}

/// A typed array of T of exactly `length` elements.
template <typename T, typename Info>
bool readArray(const Info& info, size_t index, const char* name, Span<T>& out, size_t length) {
  if (!readArray(info, index, name, out)) return false;
  if (out.length != length) {
    return refuseRange(info, std::string(name) + " must have " + std::to_string(length) + " elements, not " +
                                 std::to_string(out.length));
  }
  return true;
}

/// A finite number from `least` to `most`.
template <typename Info>
bool readNumber(const Info& info, size_t index, const char* name, double least, double most,
                       double& out) {
  double value = 0;
  if (index >= info.Length() || napi_get_value_double(info.Env(), info[index], &value) != napi_ok) {
    return refuseType(info, std::string(name) + " must be a number");
  }
  if (!std::isfinite(value) || value < least || value > most) {
    return refuseRange(info, std::string(name) + " must be from " + std::to_string(least) + " to " +
                                 std::to_string(most) + ", not " + std::to_string(value));
  }
  out = value;
  return true;
}

/// A whole number from `least` to `most`.
template <typename Info>
bool readInteger(const Info& info, size_t index, const char* name, int64_t least, int64_t most,
                        int64_t& out) {
  double value = 0;
  if (!readNumber(info, index, name, static_cast<double>(least), static_cast<double>(most), value)) return false;
  if (value != std::floor(value)) return refuseRange(info, std::string(name) + " must be a whole number");
  out = static_cast<int64_t>(value);
  return true;
}
