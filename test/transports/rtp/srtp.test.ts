import { describe, expect, it } from 'vitest';
import { SrtcpSession, SrtpSession } from 'werift';
import { Random } from '../../../src/base/random.js';
import { parseRtp, serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { newSrtpKey, SrtpReceiver, SrtpSender } from '../../../src/transports/rtp/srtp.js';
import { derived, SRTP_SUITES, type SrtpKey } from '../../../src/transports/rtp/srtp-cipher.js';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hex = (data: Uint8Array | null): string => (data === null ? 'null' : Buffer.from(data).toString('hex'));

/** Of RFC 3711, B.3. */
const MASTER: SrtpKey = {
  suite: 'AES_CM_128_HMAC_SHA1_80',
  key: bytes('e1f97a0d3e018be0d64fa32c06de4139'),
  salt: bytes('0ec675ad498afeebb6960b3aabe6'),
};
const SR = bytes(`80c80006 cafebabe ${'ab'.repeat(20)}`);

function rtp(sequence: number, ssrc = 0xcafebabe): Uint8Array {
  const payload = Uint8Array.from({ length: 40 }, (_, i) => (i * 7 + sequence) & 0xff);
  return serialiseRtp({
    payloadType: 0,
    marker: false,
    sequence: sequence & 0xffff,
    timestamp: sequence * 160,
    ssrc,
    payload,
  });
}

describe('SRTP', () => {
  it.each(SRTP_SUITES)('is the same for whoever sees a packet alone: %s', (suite) => {
    const key = newSrtpKey(suite);
    const [random, sender, receiver] = [new Random(3), new SrtpSender(key), new SrtpReceiver(key)];
    const packets = Array.from({ length: 400 }, (_, n) => {
      const payload = Uint8Array.from({ length: random.pick([0, 1, 33, 160, 160, 160, 480, 700]) }, () => n);
      const plain = serialiseRtp({ payloadType: 0, marker: false, timestamp: n, ssrc: 7, sequence: n, payload });
      return { plain, sealed: Buffer.from(sender.protect(plain)), at: n + random.int(0, 20) };
    });
    for (const { plain, sealed } of packets.sort((one, other) => one.at - other.at)) {
      expect(hex(new SrtpReceiver(key).open(sealed))).toBe(hex(plain));
      expect(hex(receiver.open(sealed))).toBe(hex(plain));
    }
  });

  it("derives RFC 3711's keys", () => {
    const { key, salt } = MASTER;
    expect(hex(derived(key, salt, 0, 16))).toBe('c61e7a93744f39ee10734afe3ff7a087');
    expect(hex(derived(key, salt, 2, 14))).toBe('30cbbc08863d8c85d49db34a9ae1');
    expect(hex(derived(key, salt, 1, 20))).toBe('cebe321f6ff7716b6fd4ab49af256a156d38baa4');
  });

  it('gives the packet that libsrtp gives', () => {
    const plain = bytes(`800f1234 decafbad cafebabe ${'ab'.repeat(16)}`);
    const sealed = '800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb';
    expect(hex(new SrtpSender(MASTER).protect(plain))).toBe(sealed);
    expect(hex(new SrtpReceiver(MASTER).open(bytes(sealed)))).toBe(hex(plain));
  });

  it('gives the packet that libsrtp gives with AES-GCM', () => {
    const key: SrtpKey = {
      suite: 'AEAD_AES_128_GCM',
      key: bytes('000102030405060708090a0b0c0d0e0f'),
      salt: bytes('a0a1a2a3a4a5a6a7a8a9aaab'),
    };
    const plain = bytes(`800f1234 decafbad cafebabe ${'ab'.repeat(16)}`);
    const body = 'c5002ede04cfdd2eb91159e0880aa06ed2976826f796b201df3131a127e8a392';
    expect(hex(new SrtpSender(key).protect(plain))).toBe(`800f1234decafbadcafebabe${body}`);
  });

  for (const suite of SRTP_SUITES) {
    it(`opens what it has protected: ${suite}`, () => {
      const key = newSrtpKey(suite);
      const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
      for (let n = 65_500; n < 65_600; n++) expect(hex(receiver.open(sender.protect(rtp(n))))).toBe(hex(rtp(n)));
      expect(hex(receiver.open(sender.protectRtcp(SR)))).toBe(hex(SR));
      expect(hex(receiver.open(sender.protectRtcp(SR)))).toBe(hex(SR));
    });

    it(`opens nothing that was changed, at any bit: ${suite}`, () => {
      const key = newSrtpKey(suite);
      const sender = new SrtpSender(key);
      for (const sealed of [sender.protect(rtp(7)), sender.protectRtcp(SR)]) {
        for (let bit = 0; bit < sealed.length * 8; bit++) {
          const changed = Uint8Array.from(sealed);
          changed[bit >> 3]! ^= 1 << (bit & 7);
          expect(new SrtpReceiver(key).open(changed), `bit ${String(bit)}`).toBeNull();
        }
        for (let length = 0; length < sealed.length; length++) {
          expect(new SrtpReceiver(key).open(sealed.subarray(0, length))).toBeNull();
        }
      }
    });
  }

  for (const [suite, profile] of [
    ['AES_CM_128_HMAC_SHA1_80', 1],
    ['AEAD_AES_128_GCM', 7],
  ] as const) {
    it(`is understood by another implementation, and understands it: ${suite}`, () => {
      const key = newSrtpKey(suite);
      const [masterKey, masterSalt] = [Buffer.from(key.key), Buffer.from(key.salt)];
      const keys = {
        localMasterKey: masterKey,
        localMasterSalt: masterSalt,
        remoteMasterKey: masterKey,
        remoteMasterSalt: masterSalt,
      };
      const theirs = new SrtpSession({ keys, profile });
      const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
      for (let n = 65_530; n < 65_545; n++) {
        expect(hex(theirs.decrypt(Buffer.from(sender.protect(rtp(n)))))).toContain(
          hex(parseRtp(rtp(n))?.payload ?? null),
        );
      }
      const reports = new SrtcpSession({ keys, profile });
      expect(hex(reports.decrypt(Buffer.from(sender.protectRtcp(SR))))).toBe(hex(SR));
      expect(hex(receiver.open(reports.encrypt(SR)))).toBe(hex(SR));
    });
  }

  it('takes a packet once, also out of order and over the roll-over', () => {
    const key = newSrtpKey('AES_CM_128_HMAC_SHA1_80');
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
    const sealed = Array.from({ length: 300 }, (_, n) => sender.protect(rtp(65_400 + n)));
    const order = sealed.map((_, n) => (n % 10 === 3 ? n + 5 : n % 10 === 8 ? n - 5 : n));
    for (const n of order) expect(receiver.open(sealed[n]!), `packet ${String(n)}`).not.toBeNull();
    for (const packet of sealed) expect(receiver.open(packet)).toBeNull();
  });

  it('takes no packet that is older than the window, and no report twice', () => {
    const key = newSrtpKey('AES_CM_128_HMAC_SHA1_80');
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
    const sealed = Array.from({ length: 200 }, (_, n) => sender.protect(rtp(n)));
    expect(receiver.open(sealed[199]!)).not.toBeNull();
    expect(receiver.open(sealed[50]!)).toBeNull();
    expect(receiver.open(sealed[100]!)).not.toBeNull();
    const report = sender.protectRtcp(SR);
    expect(receiver.open(report)).not.toBeNull();
    expect(receiver.open(report)).toBeNull();
  });

  it('goes on after a loss of thousands of packets over the roll-over', () => {
    const key = newSrtpKey('AES_CM_128_HMAC_SHA1_80');
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
    for (let n = 60_000; n < 70_000; n++) {
      const sealed = sender.protect(rtp(n));
      if (n < 60_010 || n > 69_990) expect(receiver.open(sealed), String(n)).not.toBeNull();
    }
  });
});
