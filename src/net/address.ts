import { BlockList, isIP } from 'node:net';

/**
 * IPv4 blocks that are not public, or that customer-configured addresses must not reach (IANA IPv4 special-purpose
 * address registry, RFC 6890).
 */
const CLOSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // a cloud's metadata service on a public address
  ['169.254.0.0', 16], // link-local, metadata services
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/**
 * IPv6 has one block of public unicast addresses; these parts of it are blocked (IANA IPv6 special-purpose address
 * registry). Everything outside it is blocked too: loopback, ::/96, ::ffff:0:0/96, NAT64, ULA, link-local, multicast.
 */
const PUBLIC_V6 = ['2000::', 3] as const;
const CLOSED_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // protocol assignments: Teredo, ORCHID, benchmarks
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: holds any IPv4 address
  ['3fff::', 20], // documentation
];

const closedV4 = blockList(CLOSED_V4, 'ipv4');
const publicV6 = blockList([PUBLIC_V6], 'ipv6');
const closedV6 = blockList(CLOSED_V6, 'ipv6');

/** Whether a literal IP address is public. False for anything else. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !closedV4.check(address, 'ipv4');
    case 6:
      // A zone (fe80::1%eth0) is valid for link-local addresses only.
      return !address.includes('%') && publicV6.check(address, 'ipv6') && !closedV6.check(address, 'ipv6');
    default:
      return false;
  }
}

function blockList(blocks: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family);
  return list;
}
