// UDP sockets for media. What has come for all sockets of a thread in one turn of its event loop is given to JavaScript in
// one call; nothing is allocated for a datagram, in either direction. src/transports/rtp/native-socket.ts is the other half.
//
// libuv watches the sockets and is all that is used of the system besides sockets: Windows, whose sockets are no file
// descriptors, has Node's own instead.
#include <napi.h>

#include "kernels.h"

#ifdef _WIN32

void registerUdp(Napi::Env, Napi::Object) {}

#else

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "arguments.h"
#include "udp-inbox.h"

namespace {

/// The bits of a socket's number that are its place's.
constexpr uint32_t kPlace = 0xffff;
/// A second of sound of a peer that sends in bursts.
constexpr int kReceiveBufferBytes = 262144;

/// The sockets of one instance of the addon: of one thread.
class Udp {
 public:
  static void add(Napi::Env env, Napi::Object exports);

 private:
  explicit Udp(Napi::Env env) : env_(env) {}

  // udpStart(inbox: Uint8Array, arrivals: Int32Array, onArrivals: (count) => void): number
  static Napi::Value Start(const Napi::CallbackInfo& info);
  // udpOpen(inbox: number, address: string, port: number): number
  static Napi::Value Open(const Napi::CallbackInfo& info);
  // udpListen(socket: number): void
  static Napi::Value Listen(const Napi::CallbackInfo& info);
  // udpPort(socket: number): number
  static Napi::Value Port(const Napi::CallbackInfo& info);
  // udpSource(inbox: number, arrival: number): string
  static Napi::Value Source(const Napi::CallbackInfo& info);
  // udpAim(socket: number, address: string, port: number): boolean
  static Napi::Value Aim(const Napi::CallbackInfo& info);
  // udpSend(socket: number, datagram: Uint8Array): void
  static napi_value Send(napi_env env, napi_callback_info info);
  // udpClose(socket: number): void
  static Napi::Value Close(const Napi::CallbackInfo& info);

  static Udp& of(const Napi::CallbackInfo& info) { return *static_cast<Udp*>(info.Data()); }
  static void cleanUp(napi_async_cleanup_hook_handle hook, void* data);

  Socket* find(int32_t id) const {
    const size_t place = static_cast<uint32_t>(id) & kPlace;
    Socket* socket = place < sockets_.size() ? sockets_[place] : nullptr;
    return socket != nullptr && socket->id == id ? socket : nullptr;
  }
  int open(const std::string& address, int port, Inbox* inbox, Socket*& out);
  void close(Socket* socket);
  void letGo();

  Napi::Env env_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  /// By their place; null where there is none now.
  std::vector<Socket*> sockets_;
  /// The numbers of the last sockets of places that are free.
  std::vector<int32_t> free_;
  /// libuv's handles that are not closed yet; when the thread ends, it waits for them.
  size_t handles_ = 0;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  bool isOver_ = false;
};

bool readId(const Napi::CallbackInfo& info, size_t index, const char* name, int32_t& out) {
  int64_t value = 0;
  if (!readInteger(info, index, name, 0, INT32_MAX, value)) return false;
  out = static_cast<int32_t>(value);
  return true;
}

bool readText(const Napi::CallbackInfo& info, size_t index, const char* name, std::string& out) {
  if (index >= info.Length() || !info[index].IsString()) return refuseType(info, std::string(name) + " must be a string");
  out = info[index].As<Napi::String>().Utf8Value();
  return true;
}

Napi::Value Udp::Start(const Napi::CallbackInfo& info) {
  Udp& udp = of(info);
  const Napi::Value nothing = info.Env().Undefined();
  Span<uint8_t> bytes;
  Span<int32_t> arrivals;
  if (!readArray(info, 0, "bytes", bytes) || !readArray(info, 1, "arrivals", arrivals)) return nothing;
  if (bytes.length < kLongest || arrivals.length < kFields) {
    refuseRange(info, "there is no room for a datagram");
    return nothing;
  }
  if (info.Length() < 3 || !info[2].IsFunction()) {
    refuseType(info, "onArrivals must be a function");
    return nothing;
  }
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(info.Env(), &loop) != napi_ok) return nothing;
  udp.inboxes_.push_back(std::make_unique<Inbox>(info, loop, bytes, arrivals));
  udp.inboxes_.back()->owner = &udp;
  udp.handles_++;
  return Napi::Number::New(info.Env(), static_cast<double>(udp.inboxes_.size() - 1));
}

/// libuv's error, or 0.
int Udp::open(const std::string& address, int port, Inbox* inbox, Socket*& out) {
  const bool isV6 = address.find(':') != std::string::npos;
  Address local{};
  if (const int error = readAddress(address, port, isV6, local); error != 0) return error;
  if (free_.empty() && sockets_.size() > kPlace) return UV_EMFILE;
  const int fd = ::socket(isV6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return -errno;
  const int off = 0;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  if (isV6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env_, &loop);
  auto socket = std::make_unique<Socket>();
  if (::bind(fd, &local.any, lengthOf(isV6)) != 0) {
    const int error = -errno;
    ::close(fd);
    return error;
  }
  if (const int error = uv_poll_init(loop, &socket->poll, fd); error != 0) {
    ::close(fd);
    return error;
  }
  socket->poll.data = socket.get();
  if (free_.empty()) {
    free_.push_back(static_cast<int32_t>(sockets_.size()));
    sockets_.push_back(nullptr);
  }
  // Another number than the last one of this place.
  socket->id = static_cast<int32_t>((static_cast<uint32_t>(free_.back()) + kPlace + 1) & INT32_MAX);
  free_.pop_back();
  socket->fd = fd;
  socket->isV6 = isV6;
  socket->inbox = inbox;
  out = socket.release();
  sockets_[static_cast<uint32_t>(out->id) & kPlace] = out;
  handles_++;
  return 0;
}

void onReady(uv_poll_t* poll, int status, int) {
  Socket& socket = *static_cast<Socket*>(poll->data);
  if (status >= 0) {
    socket.inbox->read(socket);
    return;
  }
  // libuv has stopped watching because of an error of the socket's, which is taken away by asking for it.
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket.fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0) uv_poll_start(poll, UV_READABLE, onReady);
}

Napi::Value Udp::Open(const Napi::CallbackInfo& info) {
  Udp& udp = of(info);
  const Napi::Value nothing = info.Env().Undefined();
  int64_t inbox = 0, port = 0;
  std::string address;
  if (!readInteger(info, 0, "inbox", 0, static_cast<int64_t>(udp.inboxes_.size()) - 1, inbox)) return nothing;
  if (!readText(info, 1, "address", address)) return nothing;
  if (!readInteger(info, 2, "port", 0, 65535, port)) return nothing;
  Socket* socket = nullptr;
  const int error = udp.isOver_ ? UV_ECANCELED
                                : udp.open(address, static_cast<int>(port), udp.inboxes_[inbox].get(), socket);
  if (error != 0) {
    const std::string code = uv_err_name(error);
    Napi::Error thrown = Napi::Error::New(info.Env(), "bind " + code + " " + address + ":" + std::to_string(port));
    thrown.Set("code", code);
    thrown.ThrowAsJavaScriptException();
    return nothing;
  }
  return Napi::Number::New(info.Env(), socket->id);
}

Napi::Value Udp::Listen(const Napi::CallbackInfo& info) {
  int32_t id = 0;
  if (!readId(info, 0, "socket", id)) return info.Env().Undefined();
  if (Socket* socket = of(info).find(id); socket != nullptr) uv_poll_start(&socket->poll, UV_READABLE, onReady);
  return info.Env().Undefined();
}

Napi::Value Udp::Port(const Napi::CallbackInfo& info) {
  int32_t id = 0;
  if (!readId(info, 0, "socket", id)) return info.Env().Undefined();
  const Socket* socket = of(info).find(id);
  Address local{};
  socklen_t length = sizeof local;
  if (socket != nullptr) getsockname(socket->fd, &local.any, &length);
  return Napi::Number::New(info.Env(), portOf(local));
}

Napi::Value Udp::Source(const Napi::CallbackInfo& info) {
  Udp& udp = of(info);
  int64_t inbox = 0;
  int32_t arrival = 0;
  if (!readInteger(info, 0, "inbox", 0, static_cast<int64_t>(udp.inboxes_.size()) - 1, inbox) ||
      !readId(info, 1, "arrival", arrival)) {
    return info.Env().Undefined();
  }
  return Napi::String::New(info.Env(), udp.inboxes_[inbox]->source(static_cast<size_t>(arrival)));
}

Napi::Value Udp::Aim(const Napi::CallbackInfo& info) {
  const Napi::Value nothing = info.Env().Undefined();
  int32_t id = 0;
  int64_t port = 0;
  std::string address;
  if (!readId(info, 0, "socket", id) || !readText(info, 1, "address", address)) return nothing;
  if (!readInteger(info, 2, "port", 1, 65535, port)) return nothing;
  Socket* socket = of(info).find(id);
  if (socket == nullptr) return Napi::Boolean::New(info.Env(), false);
  const bool isOne = readAddress(address, static_cast<int>(port), socket->isV6, socket->target) == 0;
  socket->targetLength = isOne ? lengthOf(socket->isV6) : 0;
  return Napi::Boolean::New(info.Env(), isOne);
}

/// Once for each packet: without the wrappers around Node's interface.
napi_value Udp::Send(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  size_t count = 2;
  void* data = nullptr;
  int32_t id = 0;
  napi_typedarray_type type{};
  size_t length = 0;
  void* bytes = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok || count < 2 ||
      napi_get_value_int32(env, arguments[0], &id) != napi_ok ||
      napi_get_typedarray_info(env, arguments[1], &type, &length, &bytes, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    napi_throw_type_error(env, nullptr, "a socket and a Uint8Array are needed");
    return nullptr;
  }
  const Socket* socket = static_cast<Udp*>(data)->find(id);
  if (socket == nullptr || socket->targetLength == 0) return nullptr;
  // What cannot be sent is lost.
  (void)!sendto(socket->fd, bytes, length, MSG_DONTWAIT, &socket->target.any, socket->targetLength);
  return nullptr;
}

Napi::Value Udp::Close(const Napi::CallbackInfo& info) {
  int32_t id = 0;
  if (!readId(info, 0, "socket", id)) return info.Env().Undefined();
  Udp& udp = of(info);
  if (Socket* socket = udp.find(id); socket != nullptr) udp.close(socket);
  return info.Env().Undefined();
}

void Udp::close(Socket* socket) {
  sockets_[static_cast<uint32_t>(socket->id) & kPlace] = nullptr;
  free_.push_back(socket->id);
  uv_poll_stop(&socket->poll);
  // `inbox` outlives its sockets' handles: it is let go of with the last one.
  uv_close(reinterpret_cast<uv_handle_t*>(&socket->poll), [](uv_handle_t* handle) {
    const std::unique_ptr<Socket> gone(static_cast<Socket*>(handle->data));
    static_cast<Udp*>(gone->inbox->owner)->letGo();
  });
  ::close(socket->fd);
}

void Udp::letGo() {
  handles_--;
  if (!isOver_ || handles_ > 0) return;
  const napi_async_cleanup_hook_handle hook = hook_;
  delete this;
  napi_remove_async_cleanup_hook(hook);
}

/// The thread ends: everything of libuv's has to be closed before its event loop is.
void Udp::cleanUp(napi_async_cleanup_hook_handle hook, void* data) {
  Udp& udp = *static_cast<Udp*>(data);
  udp.isOver_ = true;
  udp.hook_ = hook;
  udp.handles_++;
  for (Socket* socket : udp.sockets_) {
    if (socket != nullptr) udp.close(socket);
  }
  for (const auto& inbox : udp.inboxes_) {
    inbox->close([](uv_handle_t* handle) {
      static_cast<Udp*>(static_cast<Inbox*>(handle->data)->owner)->letGo();
    });
  }
  udp.letGo();
}

void Udp::add(Napi::Env env, Napi::Object exports) {
  Udp* udp = new Udp(env);
  exports.Set("udpStart", Napi::Function::New(env, Start, "udpStart", udp));
  exports.Set("udpOpen", Napi::Function::New(env, Open, "udpOpen", udp));
  exports.Set("udpListen", Napi::Function::New(env, Listen, "udpListen", udp));
  exports.Set("udpPort", Napi::Function::New(env, Port, "udpPort", udp));
  exports.Set("udpSource", Napi::Function::New(env, Source, "udpSource", udp));
  exports.Set("udpAim", Napi::Function::New(env, Aim, "udpAim", udp));
  exports.Set("udpClose", Napi::Function::New(env, Close, "udpClose", udp));
  napi_value send = nullptr;
  napi_create_function(env, "udpSend", NAPI_AUTO_LENGTH, Send, udp, &send);
  exports.Set("udpSend", Napi::Value(env, send));
  napi_add_async_cleanup_hook(env, cleanUp, udp, nullptr);
}

}  // namespace

void registerUdp(Napi::Env env, Napi::Object exports) { Udp::add(env, exports); }

#endif
