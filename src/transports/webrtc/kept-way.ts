/** werift's ICE connection. */
export interface PacketCarrier {
  readonly state: string;
  /** The candidate pair in use; undefined from the start of an ICE restart until another is found. */
  readonly nominated?: Way;
  send: (data: Buffer) => Promise<void>;
}

interface Way {
  readonly protocol: { sendData(data: Buffer, address: readonly [string, number]): Promise<void> };
  readonly remoteAddr: readonly [string, number];
}

/**
 * Keeps the last candidate pair in use until an ICE restart has found another (RFC 8445, 9). werift would drop packets,
 * including the answer on the data channel that the restart needs. Call once.
 */
export function keepWay(carrier: PacketCarrier): void {
  const { send } = carrier;
  let last: Way | undefined;
  carrier.send = async (data) => {
    const { nominated, state } = carrier;
    if (nominated === undefined && last !== undefined && state !== 'closed' && state !== 'failed') {
      return last.protocol.sendData(data, last.remoteAddr);
    }
    last = nominated;
    return send(data);
  };
}
