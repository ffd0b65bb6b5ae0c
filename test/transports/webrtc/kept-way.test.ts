import { expect, test } from 'vitest';
import { type PacketCarrier, keepWay } from '../../../src/transports/webrtc/werift-config.js';

/** Something that carries packets, and tells which port each of them went to. */
function carrierOf(): {
  carrier: { -readonly [Name in keyof PacketCarrier]: PacketCarrier[Name] };
  ports: number[];
  to: typeof way;
} {
  const ports: number[] = [];
  const way = (port: number): NonNullable<PacketCarrier['nominated']> => ({
    protocol: { sendData: async (_data, [, to]) => void ports.push(to) },
    remoteAddr: ['127.0.0.1', port],
  });
  const carrier = {
    state: 'connected',
    nominated: way(1) as PacketCarrier['nominated'],
    async send(this: void, data: Buffer) {
      await carrier.nominated?.protocol.sendData(data, carrier.nominated.remoteAddr);
    },
  };
  keepWay(carrier as PacketCarrier);
  return { carrier: carrier as PacketCarrier, ports, to: way };
}

test('between two ways the last one is taken', async () => {
  const { carrier, ports, to } = carrierOf();
  const packet = Buffer.of(1);
  await carrier.send(packet);
  Object.assign(carrier, { nominated: undefined, state: 'new' });
  await carrier.send(packet);
  await carrier.send(packet);
  carrier.nominated = to(2);
  await carrier.send(packet);
  Object.assign(carrier, { nominated: undefined });
  await carrier.send(packet);
  expect(ports).toEqual([1, 1, 1, 2, 2]);
});

test.each(['failed', 'closed'])('what has %s carries nothing', async (state) => {
  const { carrier, ports } = carrierOf();
  await carrier.send(Buffer.of(1));
  Object.assign(carrier, { nominated: undefined, state });
  await carrier.send(Buffer.of(1));
  expect(ports).toEqual([1]);
});
