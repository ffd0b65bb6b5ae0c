import { describe, expect, it } from 'vitest';
import { encodeG711 } from '../../../src/audio/codecs/g711.js';
import type { CodecName } from '../../../src/transports/rtp/media-codec.js';
import type { SrtpPolicy } from '../../../src/transports/rtp/negotiation.js';
import { serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { db, opened, sentBy, sentDatagrams, speak, way } from './spoken.js';

describe('a call over RTP', () => {
  it.each([
    ['PCMU', 8_000],
    ['PCMA', 8_000],
    ['G722', 16_000],
    ['opus', 16_000],
  ] as const)('carries sound: %s', async (codec: CodecName, rateHz) => {
    const ends = await opened({ codecs: [codec] });
    expect(ends.caller.line.inputRateHz).toBe(rateHz);
    await speak(ends, 1_000);
    const heard = ends.far.samples.slice(rateHz / 5, rateHz);
    expect(heard.length).toBeGreaterThan(rateHz * 0.7);
    expect(Math.abs(db(heard) - -15.2)).toBeLessThan(0.6);
    expect(ends.callee.stats()).toMatchObject({ codec, received: 50, lost: 0, junk: 0, strangers: 0, undecodable: 0 });
  });

  it('speaks with codecs of half the rate where it may speak with others', async () => {
    const ends = await opened({ codecs: ['opus', 'PCMU'] }, { codecs: ['PCMU'] });
    expect(ends.caller.line.outputRateHz).toBe(16_000);
    expect(ends.callee.line.inputRateHz).toBe(8_000);
    await speak(ends, 400);
    expect(Math.abs(db(ends.far.samples.slice(800, 2_400)) - -15.2)).toBeLessThan(0.6);
    expect(ends.caller.stats().codec).toBe('PCMU');
  });

  it('sends a packet each 20 ms, and its time advances without frames', async () => {
    const ends = await opened();
    await speak(ends, 100);
    await ends.clock.advanceBy(1_000);
    await speak(ends, 100);
    const packets = sentBy(ends, '10.0.0.1');
    expect(packets.length).toBeGreaterThan(45);
    packets.slice(1).forEach(({ sequence }, n) => expect(sequence).toBe(((packets[n]?.sequence ?? 0) + 1) & 0xffff));
    const first = packets[0]?.timestamp ?? 0;
    // 5 frames, a second, and 5 more, of which the last begins 20 ms before its end.
    expect(Math.abs((((packets.at(-1)?.timestamp ?? 0) - first) >>> 0) - 1_180 * 8)).toBeLessThanOrEqual(160);
    expect(packets[0]?.marker).toBe(true);
    expect(packets[1]?.marker).toBe(false);
  });

  it('sends silence from the answer on, and whenever there are no frames for a while', async () => {
    const ends = await opened();
    await ends.clock.advanceBy(200);
    expect(Math.abs(sentBy(ends, '10.0.0.1').length - 10)).toBeLessThanOrEqual(1);
    await speak(ends, 200);
    const before = sentBy(ends, '10.0.0.1').length;
    await ends.clock.advanceBy(2_000);
    const packets = sentBy(ends, '10.0.0.1').slice(before);
    expect(packets.length).toBeGreaterThanOrEqual(90);
    for (const { payload } of packets) expect(payload.every((code) => code === 0xff)).toBe(true);
    packets.slice(1).forEach(({ timestamp }, n) => expect((timestamp - (packets[n]?.timestamp ?? 0)) >>> 0).toBe(160));
  });

  it.each(['opus', 'PCMU'] as const)('carries keys as events: %s', async (codec) => {
    const ends = await opened({ codecs: [codec] }, { codecs: [codec] }, { loss: 0.2 });
    const sending = ends.caller.line.sendDigits?.('0123456789*#ABCDw1', new AbortController().signal);
    await ends.clock.advanceBy(5_000);
    await sending;
    expect(ends.far.keys).toBe('0123456789*#ABCD1');
  });

  it('writes events as RFC 4733 wants them', async () => {
    const ends = await opened();
    await speak(ends, 40);
    const sending = ends.caller.line.sendDigits?.('5', new AbortController().signal);
    await speak(ends, 220);
    await sending;
    const events = sentBy(ends, '10.0.0.1').filter(({ payloadType }) => payloadType === 101);
    expect(new Set(events.map(({ timestamp }) => timestamp)).size).toBe(1);
    expect(events.map(({ marker }) => marker)).toEqual([true, ...Array.from({ length: 7 }, () => false)]);
    expect(events.map(({ payload }) => [...payload])).toEqual([
      ...[160, 320, 480, 640, 800].map((duration) => [5, 10, duration >> 8, duration & 0xff]),
      ...[800, 800, 800].map((duration) => [5, 0x80 | 10, duration >> 8, duration & 0xff]),
    ]);
  });

  it('presses a key once, also where time has gone on in the middle of it', async () => {
    const ends = await opened();
    await speak(ends, 40);
    const sending = ends.caller.line.sendDigits?.('59', new AbortController().signal);
    // Nobody gives frames for a while, after a packet of the first key and among the last ones of the second.
    for (const spokenMs of [20, 360, 0]) {
      await speak(ends, spokenMs);
      await ends.clock.advanceBy(120);
    }
    await ends.clock.advanceBy(500);
    await sending;
    expect(ends.far.keys).toBe('59');
    const events = sentBy(ends, '10.0.0.1').filter(({ payloadType }) => payloadType === 101);
    expect(new Set(events.map(({ timestamp }) => timestamp)).size).toBe(2);
  });

  it('sends keys as tones where the other side takes no events', async () => {
    const ends = await opened();
    const answer = ends.callee.answer(ends.caller.offer());
    ends.caller.accept(answer.replace(/^a=(?:rtpmap|fmtp):101.*\r\n/gm, '').replace(' 101\r\n', '\r\n'));
    const sending = ends.caller.line.sendDigits?.('5', new AbortController().signal);
    await ends.clock.advanceBy(500);
    await sending;
    expect(ends.far.keys).toBe('');
    expect(db(ends.far.samples.filter((sample) => Math.abs(sample) > 100))).toBeGreaterThan(-20);
  });

  it('takes a tone that comes with its event for no second key', async () => {
    const ends = await opened();
    const sending = ends.caller.line.sendDigits?.('5', new AbortController().signal);
    await ends.clock.advanceBy(160);
    ends.far.samples.length = 0;
    await speak(ends, 40, 770);
    expect(db(ends.far.samples)).toBe(-100);
    await ends.clock.advanceBy(500);
    await sending;
  });

  it('gives up keys that are broken off, and those of a call that is over', async () => {
    const ends = await opened();
    const abort = new AbortController();
    const broken = ends.caller.line.sendDigits?.('1234', abort.signal);
    await ends.clock.advanceBy(180);
    abort.abort(new Error('enough'));
    await expect(broken).rejects.toThrow('enough');
    await ends.clock.advanceBy(1_000);
    expect(ends.far.keys).toBe('1');
    const left = ends.caller.line.sendDigits?.('99', new AbortController().signal);
    await ends.caller.close();
    await expect(left).rejects.toThrow('the call is over');
  });

  it('makes up what is lost, counts it, and reports it', async () => {
    const ends = await opened({}, {}, { loss: 0.1, delayMs: 30 });
    await speak(ends, 12_000);
    const heard = ends.callee.stats();
    expect(heard.lost).toBeGreaterThan(30);
    expect(heard.lost).toBeLessThan(90);
    expect(ends.far.samples.length).toBeGreaterThan(11.8 * 8_000);
    const { reportedLoss, roundTripMs, reportedJitterMs } = ends.caller.stats();
    expect(reportedLoss).toBeGreaterThan(0.03);
    expect(reportedLoss).toBeLessThan(0.2);
    expect(roundTripMs).toBeGreaterThan(55);
    expect(roundTripMs).toBeLessThan(65);
    expect(reportedJitterMs).toBeLessThan(1);
  });

  it('measures jitter, and waits for what is late', async () => {
    const ends = await opened({}, {}, { delayMs: 20, jitterMs: 60 });
    await speak(ends, 10_000);
    const { jitterMs, lost, patienceMs, reordered } = ends.callee.stats();
    expect(jitterMs).toBeGreaterThan(10);
    expect(patienceMs).toBeGreaterThan(50);
    expect(reordered).toBeGreaterThan(50);
    expect(lost).toBeLessThan(10);
    expect(ends.caller.stats().reportedJitterMs).toBeGreaterThan(10);
  });

  it('is held, and taken back, by either side', async () => {
    const held: boolean[] = [];
    const ends = await opened({}, { listener: { held: (isHeld) => held.push(isHeld) } });
    const { caller, callee, clock } = ends;
    caller.accept(callee.answer(caller.offer('sendonly')));
    expect([callee.isHeld, caller.isHeld, held]).toEqual([true, false, [true]]);
    const before = sentBy(ends, '10.0.0.2').length;
    for (let n = 0; n < 50; n++) {
      callee.line.play(new Int16Array(160).fill(5_000));
      await clock.advanceBy(20);
    }
    expect(sentBy(ends, '10.0.0.2')).toHaveLength(before);
    expect(callee.offer()).toContain('a=sendrecv');
    callee.rollback();
    caller.accept(callee.answer(caller.offer('sendrecv')));
    expect([callee.isHeld, held]).toEqual([false, [true, false]]);
    await speak(ends, 200);
    expect(db(ends.far.samples.slice(-800))).toBeGreaterThan(-20);
  });

  it('hears another codec that was agreed upon without a word about it', async () => {
    const ends = await opened({ codecs: ['PCMU', 'PCMA'] });
    await ends.clock.advanceBy(100);
    const [from, to] = way(ends, '10.0.0.2');
    const answer = ends.caller.offer().replaceAll('10.0.0.1', '10.0.0.2');
    ends.caller.accept(answer.replace(`m=audio ${String(to.port)}`, `m=audio ${String(from.port)}`));
    await ends.callee.close();
    for (let n = 0; n < 20; n++) {
      const payload = encodeG711('alaw', new Int16Array(160).fill(4_000));
      const packet = { payloadType: 8, marker: false, sequence: n, timestamp: n * 160, ssrc: 9, payload };
      ends.network.send(serialiseRtp(packet), from, to);
      await ends.clock.advanceBy(20);
    }
    expect(ends.near.samples.filter((sample) => Math.abs(sample - 4_000) < 200).length).toBeGreaterThan(18 * 160);
  });

  it('changes its codec in the middle', async () => {
    const ends = await opened({ codecs: ['PCMU', 'PCMA', 'opus'] });
    await speak(ends, 300);
    const { caller, callee } = ends;
    const answer = callee.answer(caller.offer().replace('AVP 0 8 107', 'AVP 8 0 107'));
    caller.accept(answer);
    expect(caller.stats().codec).toBe('PCMA');
    await speak(ends, 500);
    expect(db(ends.far.samples.slice(-3_200))).toBeGreaterThan(-16);
    const types = sentBy(ends, '10.0.0.1').map(({ payloadType }) => payloadType);
    expect(new Set(types)).toEqual(new Set([0, 8]));
    expect(callee.stats().lost).toBe(0);
  });
});

describe('who is heard', () => {
  it.each(['off', 'required'] as const)('is the other side and nobody else: SRTP %s', async (srtp: SrtpPolicy) => {
    const ends = await opened({ srtp }, { srtp: srtp === 'required' ? 'accepted' : srtp });
    await speak(ends, 200);
    ends.near.samples.length = 0;
    const junk = serialiseRtp({
      payloadType: 0,
      marker: false,
      sequence: 1,
      timestamp: 1,
      ssrc: 99,
      payload: new Uint8Array(160).fill(0),
    });
    const [callerPlace] = way(ends, '10.0.0.1');
    for (let n = 0; n < 50; n++) {
      junk[3] = n;
      ends.network.send(junk, { address: '192.0.2.66', port: 6_666 }, callerPlace);
      await ends.clock.advanceBy(20);
    }
    expect(ends.caller.stats()).toMatchObject({ strangers: 50, isSecure: srtp === 'required' });
    expect(db(ends.near.samples)).toBeLessThan(-80);
    // Nor is anything sent to them.
    expect(ends.network.sent.some(({ to }) => to.startsWith('192.0.2.66'))).toBe(false);
  });

  it('is not accepted without the key, from any address', async () => {
    const ends = await opened({ srtp: 'required' }, { srtp: 'accepted' });
    await speak(ends, 200);
    const sent = sentDatagrams(ends, '10.0.0.1').at(-1) ?? new Uint8Array();
    const [from, to] = way(ends, '10.0.0.1');
    const packet = { payloadType: 0, marker: false, sequence: 1, timestamp: 1, ssrc: 99, payload: new Uint8Array(160) };
    ends.network.send(serialiseRtp(packet), from, to);
    // What was sent before comes again.
    ends.network.send(sent, from, to);
    await ends.clock.advanceBy(20);
    expect(ends.callee.stats()).toMatchObject({ forged: 2, strangers: 0 });
  });
});
