import { createHash, X509Certificate } from 'node:crypto';
import { MediaStreamTrack, RTCDtlsTransport, RTCPeerConnection } from 'werift';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { assertNothingLeft, runningResources } from '../../../src/testing/leaks.js';
import { HandshakeGuard } from '../../../src/transports/webrtc/handshake-guard.js';
import { weriftConfig } from '../../../src/transports/webrtc/werift-config.js';
import { WeriftPeer } from '../../../src/transports/webrtc/werift-peer.js';
import { udpSockets } from './udp.js';

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 15_000, interval: 20 };
const WERIFT_MS = 5_000;
const closes: (() => Promise<void>)[] = [];
const before = runningResources();

afterAll(() => assertNothingLeft(before, { graceMs: WERIFT_MS }));

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(closes.splice(0).map((close) => close()));
  await expect.poll(udpSockets, PATIENCE).toBe(0);
});

/** One end of werift's DTLS, as far as these tests change it. */
interface End {
  cipher: Cipher;
  transport: { socket: { send(datagram: Buffer): Promise<void> } };
}

interface Cipher {
  localCert: Buffer;
  localPrivateKey: unknown;
  signatureData(data: Buffer, hash: string): Buffer;
  generateKeySignature(hash: string): Buffer;
  verifyData(transcript: Buffer): Buffer;
}

/** Whether a datagram begins with a ChangeCipherSpec or a handshake (RFC 6347, 4.1). */
const isHandshake = (datagram: Buffer): boolean => datagram[0] === 20 || datagram[0] === 22;

/** What the guarded end makes of a call. */
interface Called {
  refusals: string[];
  isConnected: () => boolean;
}

/**
 * A call of which one end of DTLS is ours, and guarded, and the other one's handshake is changed. Our peer is always the
 * client; the caller, who is the server, is guarded as `WeriftCaller` is.
 */
async function call(isServer: boolean, certificate: Buffer | null, change: (end: End) => void): Promise<Called> {
  const { start } = RTCDtlsTransport.prototype as { start: (this: RTCDtlsTransport) => Promise<void> };
  vi.spyOn(RTCDtlsTransport.prototype, 'start').mockImplementation(function (this: RTCDtlsTransport) {
    const connected = start.call(this);
    const isAttacker = this.role === (isServer ? 'client' : 'server');
    if (isAttacker) change((this as unknown as { dtls: End }).dtls);
    return connected;
  });
  const peer = new WeriftPeer(LOOPBACK, new RealClock());
  const far = new RTCPeerConnection(weriftConfig(LOOPBACK));
  const [peerEnds, farRefusals]: [string[], string[]] = [[], []];
  let connections = 0;
  const nothing = (): void => undefined;
  const rest = { audio: nothing, digit: nothing, message: nothing, loss: nothing };
  peer.listen({ ...rest, connected: () => void connections++, closed: (reason) => void peerEnds.push(reason) });
  far.addTransceiver(new MediaStreamTrack({ kind: 'audio' }), { direction: 'sendrecv' });
  await far.setLocalDescription(await far.createOffer());
  const guards = far.dtlsTransports.map((transport) => new HandshakeGuard(transport, (why) => farRefusals.push(why)));
  closes.push(
    () => peer.close(),
    async () => {
      for (const guard of guards) guard.close();
      await far.close();
    },
  );
  const answer = await peer.answer(showing(far.localDescription?.sdp ?? '', isServer ? null : certificate));
  await far.setRemoteDescription({ type: 'answer', sdp: showing(answer, isServer ? certificate : null) });
  return isServer
    ? { refusals: farRefusals, isConnected: () => guards.every(({ isProven }) => isProven) }
    : { refusals: peerEnds, isConnected: () => connections > 0 };
}

/** A description that announces another certificate. */
function showing(sdp: string, certificate: Buffer | null): string {
  if (certificate === null) return sdp;
  const fingerprint = createHash('sha256').update(certificate).digest('hex').toUpperCase().match(/../g)?.join(':');
  return sdp.replaceAll(/a=fingerprint:sha-256 \S+/g, `a=fingerprint:sha-256 ${String(fingerprint)}`);
}

/** A certificate of somebody else's, which everybody has seen, and nobody but they has the key of. */
async function stolenCertificate(): Promise<Buffer> {
  const kept = RTCDtlsTransport as unknown as Record<'localCertificate' | 'localCertificatePromise', unknown>;
  const { localCertificate, localCertificatePromise } = kept;
  Object.assign(kept, { localCertificate: undefined, localCertificatePromise: undefined });
  const { certPem } = await RTCDtlsTransport.SetupCertificate();
  Object.assign(kept, { localCertificate, localCertificatePromise });
  return new X509Certificate(certPem).raw;
}

describe.each([
  { role: 'client', isServer: false },
  { role: 'server', isServer: true },
])('as the DTLS $role', ({ isServer }) => {
  it('connects to whoever proves the key of their certificate', async () => {
    const called = await call(isServer, null, () => undefined);
    await expect.poll(called.isConnected, PATIENCE).toBe(true);
    expect(called.refusals).toEqual([]);
  });

  it.each([1, 2, 3])('connects where a third of the other end is lost on its way (seed %i)', async (seed) => {
    const random = new Random(seed);
    const called = await call(isServer, null, ({ transport: { socket } }) => {
      const send = socket.send.bind(socket);
      socket.send = (datagram) => (isHandshake(datagram) && random.chance(1 / 3) ? Promise.resolve() : send(datagram));
    });
    await expect.poll(called.isConnected, { ...PATIENCE, timeout: 30_000 }).toBe(true);
    expect(called.refusals).toEqual([]);
  });

  it('refuses who shows a certificate without its key', async () => {
    const stolen = await stolenCertificate();
    const called = await call(isServer, stolen, ({ cipher }) => void (cipher.localCert = stolen));
    await expect.poll(() => called.refusals, PATIENCE).toHaveLength(1);
    expect(called.refusals[0]).toContain('it is not signed with the key of its certificate');
    expect(called.isConnected()).toBe(false);
  });

  it('refuses a signature of something else', async () => {
    const called = await call(isServer, null, ({ cipher }) => {
      const signatureData = cipher.signatureData.bind(cipher);
      cipher.signatureData = (data, hash) => signatureData(Buffer.concat([data, Buffer.of(0)]), hash);
      const generateKeySignature = cipher.generateKeySignature.bind(cipher);
      cipher.generateKeySignature = (hash) => {
        const signature = generateKeySignature(hash);
        signature.writeUInt8(signature.readUInt8(signature.length - 1) ^ 1, signature.length - 1);
        return signature;
      };
    });
    await expect.poll(() => called.refusals, PATIENCE).toHaveLength(1);
    expect(called.refusals[0]).toContain('it is not signed');
  });

  it('refuses an empty signature', async () => {
    const called = await call(isServer, null, ({ cipher }) => {
      cipher.signatureData = () => Buffer.alloc(0);
      cipher.generateKeySignature = () => Buffer.alloc(0);
    });
    await expect.poll(() => called.refusals, PATIENCE).toHaveLength(1);
    expect(called.refusals[0]).toContain('it is not signed');
  });

  it('refuses a handshake of which the two ends have seen different messages', async () => {
    const called = await call(isServer, null, ({ cipher }) => {
      const verifyData = cipher.verifyData.bind(cipher);
      cipher.verifyData = (transcript) => verifyData(Buffer.concat([transcript, Buffer.of(0)]));
    });
    await expect.poll(() => called.refusals, PATIENCE).toHaveLength(1);
    expect(called.refusals[0]).toContain('it was changed on its way');
    expect(called.isConnected()).toBe(false);
  });
});

it('a peer takes no connection that was not checked', async () => {
  vi.spyOn(HandshakeGuard.prototype, 'isProven', 'get').mockReturnValue(false);
  const called = await call(false, null, () => undefined);
  await expect.poll(() => called.refusals, PATIENCE).toEqual(['the DTLS handshake was not checked']);
  expect(called.isConnected()).toBe(false);
});

describe('messages of a handshake', () => {
  interface Message {
    msg_type: number;
    message_seq: number;
    fragment: Buffer;
    serialize: () => Buffer;
  }
  const message = (type: number, number: number, text = ''): Message => ({
    msg_type: type,
    message_seq: number,
    fragment: Buffer.from(text),
    serialize: () => Buffer.from(`${String(type)} ${text}`.trim()),
  });

  /** What of these reaches werift's client, and why the handshake was refused. */
  async function taken(
    messages: readonly Message[],
    ours: readonly Message[] = [],
  ): Promise<{ got: string[]; refusals: string[] }> {
    const [got, refusals]: [string[], string[]] = [[], []];
    const end = {
      sessionType: 1,
      dtls: { sortedHandshakeCache: [...ours, ...messages], flight: 0 },
      cipher: { masterSecret: Buffer.alloc(48), remoteCertificate: Buffer.alloc(0) },
      onHandleHandshakes: async (some: readonly Message[]): Promise<void> => {
        got.push(...some.map((each) => each.serialize().toString()));
        await Promise.resolve();
      },
    };
    const transport = { start: () => Promise.resolve(), dtls: end };
    const guard = new HandshakeGuard(transport as unknown as RTCDtlsTransport, (reason) => refusals.push(reason));
    void transport.start();
    for (const each of messages) await end.onHandleHandshakes([each]).catch(() => undefined);
    expect(guard.isProven).toBe(false);
    return { got, refusals };
  }

  it('that overtake others wait for them', async () => {
    const { got } = await taken([message(12, 3), message(14, 4), message(2, 1), message(11, 2)]);
    expect(got).toEqual(['2', '11', '12', '14']);
  });

  it('of the same number count once, and so do those of the same type', async () => {
    const first = [message(2, 1), message(11, 2), message(12, 3, 'true')];
    const { got } = await taken([...first, message(12, 3, 'forged'), message(12, 4, 'forged'), message(14, 5)]);
    expect(got).toEqual(['2', '11', '12 true']);
  });

  it('that ask for the last flight again are let through, if they are the same', async () => {
    const flight = [message(2, 1), message(11, 2), message(12, 3), message(14, 4)];
    const { got } = await taken([...flight, ...flight, message(14, 4, 'other')]);
    expect(got).toEqual(['2', '11', '12', '14', '14']);
  });

  it('of the other role, and requests for another handshake, are dropped', async () => {
    const { got } = await taken([message(2, 1), message(0, 2), message(1, 2), message(16, 2), message(15, 2)]);
    expect(got).toEqual(['2']);
  });

  it('that cannot be read refuse the handshake', async () => {
    const flight = [message(2, 1), message(11, 2), message(12, 3), message(14, 4), message(20, 5)];
    expect((await taken([...flight, message(16, 9)], [message(1, 0)])).refusals).toEqual(['it cannot be read']);
  });

  it('lack some: a Finished proves nothing', async () => {
    expect((await taken([message(2, 1), message(20, 2)])).refusals).toEqual(['it lacks messages']);
  });

  it('are held in a limited number', async () => {
    const many = Array.from({ length: 100 }, (_, at) => message(11, 200 + at));
    expect((await taken([...many, message(2, 1), message(11, 2)])).got).toEqual(['2', '11']);
  });
});
