import type { Hop, SipProtocol } from '../hop.js';

/** The own address, towards a peer. */
export interface Place {
  /** The address that the peer uses. */
  host: string;
  port: number;
  /** The bound local address; also `0.0.0.0` or `::`. */
  bound: string;
}

/** Sends and receives messages. Never throws once it is open. */
export interface SipTransport {
  /** Does not wait; `onFailed` reports a known failure later. */
  send(bytes: Uint8Array, to: Hop): void;
  localPlace(to: Hop): Place;
  /** Whether there is a connection to it; always true without connections. */
  isOpen(hop: Hop): boolean;
  /** May be called twice. */
  close(): Promise<void>;
}

export interface TransportEvents {
  /** The bytes of one message, valid or not. */
  onMessage(bytes: Uint8Array, from: Hop): void;
  onFailed(to: Hop): void;
  /** Something was refused before it was a message. */
  onRefused(why: 'stranger' | 'connections' | 'framing' | 'handshake'): void;
}

export interface Listening {
  protocol: SipProtocol;
  /** IP address, also `0.0.0.0` or `::`. */
  address: string;
  /** 0 = any free port. */
  port: number;
}

/** IPv6 sockets write IPv4 addresses as `::ffff:192.0.2.1`. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
