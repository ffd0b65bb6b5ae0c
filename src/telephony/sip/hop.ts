export type SipProtocol = 'UDP' | 'TCP' | 'TLS';

/** Source or destination of a message: the remote end of a socket. */
export interface Hop {
  protocol: SipProtocol;
  /** An IP address, without brackets. */
  address: string;
  port: number;
  /** Index of the listening socket that it came over. Omitted: any that fits. */
  over?: number;
}

/** Whether delivery is reliable, or its failure known. */
export function isReliable({ protocol }: Hop): boolean {
  return protocol !== 'UDP';
}

export function hopText({ protocol, address, port }: Hop): string {
  return `${protocol} ${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}

export function sameHop(one: Hop, other: Hop): boolean {
  return one.protocol === other.protocol && one.address === other.address && one.port === other.port;
}
