import { describe, expect, it } from 'vitest';
import { dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { encodeG711 } from '../../../src/audio/codecs/g711.js';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Random } from '../../../src/base/random.js';
import { serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import { Hearing, PressedKeys } from '../../../src/session/hearing/hearing.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { UdpNetwork } from '../../transports/rtp/udp-network.js';

const RATE = 8_000;
const KEY_MS = 200;
const GATEWAY = { address: '10.0.0.9', port: 5_000 };
const OFFER = [
  'v=0',
  'o=- 1 1 IN IP4 10.0.0.9',
  's=-',
  'c=IN IP4 10.0.0.9',
  't=0 0',
  'm=audio 5000 RTP/AVP 0 101',
  'a=rtpmap:101 telephone-event/8000',
  '',
].join('\r\n');

interface Gateway {
  /** How much of a key's tone is in the sound, of 100 ms. */
  toneMs: number;
  /** When its event begins, seen from the tone; null = there is none. */
  eventMs: number | null;
  jitterMs?: number;
}

/** What a session hears of keys, 200 ms each, that a gateway sends as it does. */
async function heard(keys: string, { toneMs, eventMs, jitterMs = 0 }: Gateway): Promise<string> {
  const clock = new VirtualClock();
  const network = new UdpNetwork(clock, new Random(1), { delayMs: 10, jitterMs });
  const ports = new RtpPorts({ clock, localAddress: '10.0.0.1', openSocket: network.open });
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports, codecs: ['PCMU'] });
  const to = { address: '10.0.0.1', port: parseSdp(session.answer(OFFER)).media[0]?.port ?? 0 };
  session.answered();
  let digits = '';
  const hearing = new Hearing(
    {
      nowMs: () => clock.nowMs(),
      emit: (event) => {
        if (event.type === 'digits') digits += event.digits;
      },
    },
    {
      inputRateHz: RATE,
      vad: energyVad().createDetector(),
      stt: { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined },
      vadThreshold: 0.5,
    },
  );
  session.line.start({
    audio: (samples) => hearing.audio(samples),
    digits: (pressed) => hearing.keys(pressed),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => undefined,
  });
  const tones = dtmfTones(keys, RATE);
  // Of each key's tone the gateway lets through what it has not cut yet.
  tones.forEach((_, at) => {
    if (at % (RATE / 5) >= toneMs * 8) tones[at] = 0;
  });
  const lead = 400;
  const sound = new Int16Array(RATE * (keys.length / 5 + 1.5));
  sound.set(tones, lead * 8);
  const events = [...keys].flatMap((key, n) =>
    eventMs === null ? [] : eventOf(key, lead + n * KEY_MS + eventMs, (lead + n * KEY_MS + eventMs) * 8),
  );
  let sequence = 0;
  const send = (payloadType: number, timestamp: number, payload: Uint8Array): void => {
    const packet = { payloadType, marker: false, sequence: sequence++, timestamp, ssrc: 7, payload };
    network.send(serialiseRtp(packet), GATEWAY, to);
  };
  for (let atMs = 0; atMs * 8 < sound.length; atMs += 20) {
    send(0, atMs * 8, encodeG711('mulaw', sound.subarray(atMs * 8, atMs * 8 + 160)));
    for (const event of events.filter((each) => each.atMs === atMs)) send(101, event.timestamp, event.payload);
    await clock.advanceBy(20);
  }
  await clock.advanceBy(500);
  await session.close();
  hearing.close();
  return digits;
}

/** A key of 100 ms as an event: five packets, and its end three times. */
function eventOf(key: string, startMs: number, timestamp: number) {
  return Array.from({ length: 8 }, (_, n) => {
    const duration = Math.min(n + 1, 5) * 160;
    const payload = Uint8Array.of('0123456789*#ABCD'.indexOf(key), n < 5 ? 10 : 0x8a, duration >> 8, duration & 0xff);
    return { atMs: startMs + 20 * Math.min(n, 5), timestamp, payload };
  });
}

describe('keys of a gateway', () => {
  const lags = [-100, -60, -20, 0, 20, 40, 80, 140, 240];
  it.each(lags)('count once, their events %i ms behind the whole tone', async (eventMs) => {
    expect(await heard('1559#', { toneMs: 100, eventMs })).toBe('1559#');
  });

  it.each([20, 40, 60])('count once where %i ms of tone slip through before the event', async (toneMs) => {
    expect(await heard('1559#', { toneMs, eventMs: toneMs })).toBe('1559#');
    expect(await heard('1559#', { toneMs, eventMs: toneMs, jitterMs: 60 })).toBe('1559#');
  });

  it('count where they are tones alone, or events alone', async () => {
    expect(await heard('1559#', { toneMs: 100, eventMs: null })).toBe('1559#');
    expect(await heard('1559#', { toneMs: 0, eventMs: 0 })).toBe('1559#');
  });
});

it('one sign pairs with one other, of the same key and not long ago', () => {
  let now = 0;
  const keys = new PressedKeys(() => now);
  expect([keys.asTone('5'), keys.asEvents('5'), keys.asEvents('5')]).toEqual([true, '', '5']);
  expect([keys.asTone('5'), keys.asTone('6')]).toEqual([false, true]);
  now = 600;
  expect(keys.asEvents('67')).toBe('67');
});
