import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Random } from '../../../src/base/random.js';
import { type PortPair, RtpPorts, type RtpPortsOptions } from '../../../src/transports/rtp/ports.js';
import { openUdpSocket } from '../../../src/transports/rtp/socket.js';
import { UdpNetwork } from './udp-network.js';

function rig(options: Partial<RtpPortsOptions> = {}): { clock: VirtualClock; network: UdpNetwork; ports: RtpPorts } {
  const clock = new VirtualClock();
  const network = new UdpNetwork(clock, new Random(1));
  const ports = new RtpPorts({
    clock,
    localAddress: '10.0.0.1',
    portRange: [20_000, 20_009],
    openSocket: network.open,
    ...options,
  });
  return { clock, network, ports };
}

describe('ports for calls', () => {
  it('are pairs that begin even, each of one call', async () => {
    const { ports } = rig();
    const pairs = await Promise.all(Array.from({ length: 5 }, () => ports.open()));
    expect(new Set(pairs.map(({ rtp }) => rtp.port))).toEqual(new Set([20_000, 20_002, 20_004, 20_006, 20_008]));
    for (const { rtp, rtcp } of pairs) expect(rtcp.port).toBe(rtp.port + 1);
    expect(ports.inUse).toBe(5);
    await expect(ports.open()).rejects.toMatchObject({ code: 'RTP_PORTS_FULL', retryable: true });
  });

  it('rest before they are used again', async () => {
    const { clock, ports } = rig({ portRange: [20_000, 20_001], drainMs: 20_000 });
    const pair = await ports.open();
    await Promise.all([pair.close(), pair.close()]);
    await clock.advanceBy(19_000);
    await expect(ports.open()).rejects.toThrow('No port is free for RTP in 20000-20001');
    await clock.advanceBy(1_000);
    await expect(ports.open()).resolves.toMatchObject({ rtp: { port: 20_000 } });
  });

  it('that others have are passed over', async () => {
    const { network, ports } = rig();
    for (const port of [20_000, 20_003, 20_004]) await network.open('10.0.0.1', port);
    const pairs: PortPair[] = [await ports.open(), await ports.open()];
    expect(pairs.map(({ rtp }) => rtp.port).sort((a, b) => a - b)).toEqual([20_006, 20_008]);
  });

  it('cannot be foretold', async () => {
    const first = new Set<number>();
    for (let n = 0; n < 20; n++) first.add((await rig({ portRange: [20_000, 29_999] }).ports.open()).rtp.port);
    expect(first.size).toBeGreaterThan(10);
  });

  it('are none where the range has no pair, or the address is none of ours', async () => {
    await expect(rig({ portRange: [20_001, 20_002] }).ports.open()).rejects.toMatchObject({ code: 'RTP_PORTS_FULL' });
    const { clock } = rig();
    const elsewhere = new RtpPorts({ clock, localAddress: '192.0.2.1' });
    await expect(elsewhere.open()).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    expect(elsewhere.inUse).toBe(0);
  });
});

describe('a socket of the system', () => {
  it('takes any address and port to send to without a word, and is closed once', async () => {
    const socket = await openUdpSocket('127.0.0.1', 0);
    for (const [address, port] of [
      ['127.0.0.1', 0],
      ['127.0.0.1', 65_536],
      ['::1', 9],
      ['255.255.255.255', 9],
      ['240.0.0.1', 9],
    ] as const) {
      socket.send(new Uint8Array(10), address, port);
    }
    await Promise.all([socket.close(), socket.close()]);
    socket.send(new Uint8Array(10), '127.0.0.1', 9);
  });
});
