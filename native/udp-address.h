// Addresses of UDP sockets, of both families, and how they are written.
#pragma once

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include <cstring>
#include <string>

/// An address of either family: a quarter of what `sockaddr_storage` has room for.
union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

inline bool isSame(const Address& one, const Address& other) {
  if (one.any.sa_family != other.any.sa_family) return false;
  if (one.any.sa_family == AF_INET) {
    return one.v4.sin_port == other.v4.sin_port && one.v4.sin_addr.s_addr == other.v4.sin_addr.s_addr;
  }
  const auto& a = one.v6;
  const auto& b = other.v6;
  return a.sin6_port == b.sin6_port && a.sin6_scope_id == b.sin6_scope_id &&
         std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

/// It is in the same place in both families.
inline int portOf(const Address& address) { return ntohs(address.v4.sin_port); }

/// As Node writes it, but for IPv4 addresses that come in IPv6's clothes, which are written as what they are.
inline std::string textOf(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.any.sa_family == AF_INET) {
    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    return text;
  }
  const auto& v6 = address.v6;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
    return text;
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  char zone[IF_NAMESIZE] = "";
  const bool hasZone = IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && v6.sin6_scope_id > 0;
  if (hasZone && if_indextoname(v6.sin6_scope_id, zone) != nullptr) return std::string(text) + "%" + zone;
  return text;
}

/// Fills in `out`; 0, or libuv's error. A socket of IPv6 takes IPv4 addresses as well.
inline int readAddress(const std::string& text, int port, bool isV6, Address& out) {
  std::memset(&out, 0, sizeof out);
  if (!isV6) return uv_ip4_addr(text.c_str(), port, &out.v4);
  const bool isV4 = text.find(':') == std::string::npos;
  return uv_ip6_addr((isV4 ? "::ffff:" + text : text).c_str(), port, &out.v6);
}

inline socklen_t lengthOf(bool isV6) { return isV6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
