// Addresses of UDP sockets, of both families, and how they are written.
#pragma once

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include <cstring>
#include <string>

inline bool isSame(const sockaddr_storage& one, const sockaddr_storage& other) {
  if (one.ss_family != other.ss_family) return false;
  if (one.ss_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(one);
    const auto& b = reinterpret_cast<const sockaddr_in&>(other);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  const auto& a = reinterpret_cast<const sockaddr_in6&>(one);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(other);
  return a.sin6_port == b.sin6_port && a.sin6_scope_id == b.sin6_scope_id &&
         std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

inline int portOf(const sockaddr_storage& address) {
  // In the same place in both.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// As Node writes it, but for IPv4 addresses that come in IPv6's clothes, which are written as what they are.
inline std::string textOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    return text;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
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
inline int readAddress(const std::string& text, int port, bool isV6, sockaddr_storage& out) {
  std::memset(&out, 0, sizeof out);
  if (!isV6) return uv_ip4_addr(text.c_str(), port, reinterpret_cast<sockaddr_in*>(&out));
  const bool isV4 = text.find(':') == std::string::npos;
  return uv_ip6_addr((isV4 ? "::ffff:" + text : text).c_str(), port, reinterpret_cast<sockaddr_in6*>(&out));
}

inline socklen_t lengthOf(bool isV6) { return isV6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
