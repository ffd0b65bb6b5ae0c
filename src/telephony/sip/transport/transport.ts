import type { Hop, SipProtocol } from '../hop.js';

/** Our own end, towards somebody. */
export interface Place {
  /** As who is there should write to it. */
  host: string;
  port: number;
  /** The address of this machine that it is bound to; also `0.0.0.0` or `::`. */
  bound: string;
}

/** Moves messages. None of it throws once it is open. */
export interface SipTransport {
  /** Fire and forget; `onFailed` tells, later, where it is known that it did not arrive. */
  send(bytes: Uint8Array, to: Hop): void;
  localPlace(to: Hop): Place;
  /** Whether there is a connection to it; always so without connections. */
  isOpen(hop: Hop): boolean;
  /** May be called twice. */
  close(): Promise<void>;
}

export interface TransportEvents {
  /** Bytes that are one message, or meant to be. */
  onMessage(bytes: Uint8Array, from: Hop): void;
  onFailed(to: Hop): void;
  /** Something was refused before it was a message. */
  onRefused(why: 'stranger' | 'connections' | 'framing' | 'handshake'): void;
}

export interface Listening {
  protocol: SipProtocol;
  /** IP address, also `0.0.0.0` or `::`. */
  address: string;
  /** 0 = any free one. */
  port: number;
}

/** IPv6 sockets call IPv4 addresses `::ffff:192.0.2.1`. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
