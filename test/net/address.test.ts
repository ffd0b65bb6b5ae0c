import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/net/address-guard.js';

describe('isPublicAddress', () => {
  it.each(['1.1.1.1', '8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0'])(
    'lets the public IPv4 address %s through',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['2606:4700:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888', '3ffe::1'])(
    'lets the public IPv6 address %s through',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    ['this network', '0.0.0.0'],
    ['private', '10.1.2.3'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['a metadata service in it', '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.255.254'],
    ['metadata on a public address', '168.63.129.16'],
    ['link-local metadata', '169.254.169.254'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['protocol assignments', '192.0.0.192'],
    ['documentation', '192.0.2.1'],
    ['6to4 relay', '192.88.99.1'],
    ['private', '192.168.0.1'],
    ['benchmarks', '198.19.255.255'],
    ['multicast', '224.0.0.251'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::7f00:1'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-mapped, in hex', '::ffff:a9fe:a9fe'],
    ['IPv4-mapped public', '::ffff:8.8.8.8'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['local NAT64', '64:ff9b:1::1'],
    ['Teredo', '2001::1'],
    ['documentation', '2001:db8::1'],
    ['6to4 of 127.0.0.1', '2002:7f00:1::'],
    ['documentation', '3fff::1'],
    ['ULA', 'fc00::1'],
    ['ULA metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['public with a zone', '2606:4700::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['a name', 'example.com'],
    ['nothing', ''],
    ['a number', '2130706433'],
  ])('refuses %s: %s', (_kind, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});
