export type SipProtocol = 'UDP' | 'TCP' | 'TLS';

/** Where a message came from, or goes to: the other end of a socket. */
export interface Hop {
  protocol: SipProtocol;
  /** An IP address, without brackets. */
  address: string;
  port: number;
  /** Of ours, the socket that it came over, by its place in the list of those that listen. Left out: any that fits. */
  over?: number;
}

/** Whether what is sent there arrives, or is known not to. */
export function isReliable({ protocol }: Hop): boolean {
  return protocol !== 'UDP';
}

export function hopText({ protocol, address, port }: Hop): string {
  return `${protocol} ${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}

export function sameHop(one: Hop, other: Hop): boolean {
  return one.protocol === other.protocol && one.address === other.address && one.port === other.port;
}
