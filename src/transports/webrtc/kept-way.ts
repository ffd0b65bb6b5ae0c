/** What carries a connection's packets, as werift has it. */
export interface PacketCarrier {
  readonly state: string;
  /** The way that packets take; none from the beginning of an ICE restart until another one has been found. */
  readonly nominated?: Way;
  send: (data: Buffer) => Promise<void>;
}

interface Way {
  readonly protocol: { sendData(data: Buffer, address: readonly [string, number]): Promise<void> };
  readonly remoteAddr: readonly [string, number];
}

/**
 * Lets packets take the last way for as long as an ICE restart has not found another one (RFC 8445, 9). werift would drop
 * them, and with them an answer on the data channel, without which no other way can be found. To be called once.
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
