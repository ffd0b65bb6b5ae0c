// Where datagrams of a thread's sockets are read into, and given to JavaScript from: udp.cc has the sockets.
#pragma once

#include <napi.h>
#include <sys/socket.h>
#include <uv.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "udp-address.h"

/// A longer datagram is cut to this: no packet of RTP or RTCP that is of use is so long.
constexpr size_t kLongest = 4160;
/// Of each arrival: the socket, where in the inbox, how many bytes, the sender's port, whether the sender is another one.
constexpr size_t kFields = 5;
constexpr size_t kAlign = 64;
/// A socket that is ready again so soon has more waiting than one datagram; so many are read then.
constexpr uint64_t kBurstMs = 2;
constexpr int kBurst = 16;

class Inbox;

/// What a datagram needs comes first, close together: among hundreds of sockets none is in the processor's caches.
struct alignas(64) Socket {
  int32_t id = 0;
  int fd = -1;
  Inbox* inbox = nullptr;
  uint64_t readAtMs = 0;
  Address source{};
  Address target{};
  socklen_t targetLength = 0;
  bool isV6 = false;
  uv_poll_t poll{};
};

/// What comes for some sockets of a thread, until the turn of the event loop in which it was read is over.
class Inbox {
 public:
  /// @param info of `udpStart`, whose arguments have been read
  Inbox(const Napi::CallbackInfo& info, uv_loop_t* loop, Span<uint8_t> bytes, Span<int32_t> arrivals)
      : env_(info.Env()), loop_(loop), context_(std::in_place, info.Env(), "parley:udp"), bytes_(bytes.data),
        size_(bytes.length), arrivals_(arrivals.data), most_(arrivals.length / kFields), sources_(most_) {
    // The memory stays as long as its arrays do.
    bytesRef_ = Napi::Persistent(info[0].As<Napi::Object>());
    arrivalsRef_ = Napi::Persistent(info[1].As<Napi::Object>());
    onArrivals_ = Napi::Persistent(info[2].As<Napi::Function>());
    uv_check_init(loop, &check_);
    check_.data = this;
  }

  /// Reads what a socket has, as long as there is room: what is left makes the socket ready again.
  void read(Socket& socket) {
    const uint64_t nowMs = uv_now(loop_);
    const int most = nowMs - socket.readAtMs <= kBurstMs ? kBurst : 1;
    socket.readAtMs = nowMs;
    for (int n = 0; n < most; n++) {
      if (count_ == most_ || used_ + kLongest > size_) return;
      Address& source = sources_[count_];
      socklen_t length = sizeof source;
      const ssize_t bytes =
          recvfrom(socket.fd, bytes_ + used_, kLongest, MSG_DONTWAIT, &source.any, &length);
      if (bytes < 0) return;
      const bool isOther = !isSame(source, socket.source);
      if (isOther) socket.source = source;
      int32_t* arrival = arrivals_ + count_ * kFields;
      arrival[0] = socket.id;
      arrival[1] = static_cast<int32_t>(used_);
      arrival[2] = static_cast<int32_t>(bytes);
      arrival[3] = portOf(source);
      arrival[4] = isOther ? 1 : 0;
      used_ += (static_cast<size_t>(bytes) + kAlign - 1) / kAlign * kAlign;
      if (count_++ == 0) uv_check_start(&check_, [](uv_check_t* check) { static_cast<Inbox*>(check->data)->deliver(); });
    }
  }

  std::string source(size_t arrival) const { return arrival < most_ ? textOf(sources_[arrival]) : ""; }

  /// Nothing is delivered any more. Calls `onClosed` when libuv has let go of it.
  template <typename OnClosed>
  void close(OnClosed onClosed) {
    bytesRef_.Reset();
    arrivalsRef_.Reset();
    onArrivals_.Reset();
    context_.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&check_), onClosed);
  }

  void* owner = nullptr;

 private:
  void deliver() {
    uv_check_stop(&check_);
    const size_t count = count_;
    Napi::HandleScope scope(env_);
    napi_value argument = Napi::Number::New(env_, static_cast<double>(count));
    const napi_status status =
        napi_make_callback(env_, *context_, env_.Global(), onArrivals_.Value(), 1, &argument, nullptr);
    // What it threw is an uncaught error of the process, as with Node's own sockets.
    napi_value error = nullptr;
    const bool hasThrown = status == napi_pending_exception;
    if (hasThrown && napi_get_and_clear_last_exception(env_, &error) == napi_ok) napi_fatal_exception(env_, error);
    count_ = 0;
    used_ = 0;
  }

  Napi::Env env_;
  uv_loop_t* loop_;
  std::optional<Napi::AsyncContext> context_;
  uint8_t* bytes_;
  size_t size_;
  int32_t* arrivals_;
  size_t most_;
  std::vector<Address> sources_;
  Napi::ObjectReference bytesRef_;
  Napi::ObjectReference arrivalsRef_;
  Napi::FunctionReference onArrivals_;
  uv_check_t check_{};
  size_t count_ = 0;
  size_t used_ = 0;
};
