import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { delay } from '../../../src/base/clock.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import type { CodecName } from '../../../src/transports/rtp/media-codec.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import { openUdpSocket } from '../../../src/transports/rtp/socket.js';
import { Ear } from './pair.js';

const ffmpegs = spawnSync('ffmpeg', ['-hide_banner', '-encoders'], { encoding: 'utf8' }).stdout ?? '';
const KEY = 'd0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj';
const clock = new RealClock();

/** The arguments that make ffmpeg send so, and the line of SDP for it. */
const CODECS: Readonly<Record<CodecName, { encoder: string[]; format: string; rtpmap: string }>> = {
  PCMU: { encoder: ['-c:a', 'pcm_mulaw', '-ar', '8000', '-ac', '1'], format: '0', rtpmap: '0 PCMU/8000' },
  PCMA: { encoder: ['-c:a', 'pcm_alaw', '-ar', '8000', '-ac', '1'], format: '8', rtpmap: '8 PCMA/8000' },
  G722: { encoder: ['-c:a', 'g722', '-ar', '16000', '-ac', '1'], format: '9', rtpmap: '9 G722/8000' },
  opus: { encoder: ['-c:a', 'libopus', '-ar', '48000', '-ac', '2'], format: '97', rtpmap: '97 opus/48000/2' },
};

const tone = (samples: readonly number[]): number => levelOf(Int16Array.from(samples)).rmsDbfs;

/** A session, and an offer for it that ffmpeg is behind. */
async function call(codec: CodecName, isSecure: boolean) {
  const ports = new RtpPorts({ clock, localAddress: '127.0.0.1', portRange: null });
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports, codecs: [codec] });
  const probe = await openUdpSocket('127.0.0.1', 0);
  const theirPort = probe.port & ~1;
  await probe.close();
  const { format, rtpmap } = CODECS[codec];
  const sdp = (port: number, key: string): string =>
    [
      'v=0',
      'o=- 1 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      `m=audio ${String(port)} RTP/${isSecure ? 'SAVP' : 'AVP'} ${format}`,
      `a=rtpmap:${rtpmap}`,
      ...(isSecure ? [`a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${key}`] : []),
      '',
    ].join('\r\n');
  const answer = parseSdp(session.answer(sdp(theirPort, KEY))).media[0];
  session.answered();
  return { session, theirPort, ourPort: answer?.port ?? 0, sdp, ourKey: answer?.crypto[0]?.inline ?? '' };
}

describe.runIf(ffmpegs.includes('g722') && ffmpegs.includes('libopus'))('a call with ffmpeg', () => {
  const cases: [CodecName, boolean][] = [
    ['PCMU', false],
    ['PCMA', true],
    ['G722', false],
    ['opus', true],
  ];

  it.each(cases)('hears it: %s, SRTP %s', async (codec, isSecure) => {
    const { session, theirPort, ourPort } = await call(codec, isSecure);
    const ear = new Ear();
    session.line.start(ear);
    const ffmpeg = spawn('ffmpeg', [
      '-v',
      'error',
      '-re',
      '-f',
      'lavfi',
      '-i',
      'sine=frequency=440:duration=1.5',
      ...CODECS[codec].encoder,
      '-payload_type',
      CODECS[codec].format,
      '-f',
      'rtp',
      ...(isSecure ? ['-srtp_out_suite', 'AES_CM_128_HMAC_SHA1_80', '-srtp_out_params', KEY] : []),
      `${isSecure ? 's' : ''}rtp://127.0.0.1:${String(ourPort)}?localrtpport=${String(theirPort)}`,
    ]);
    await once(ffmpeg, 'close');
    await session.close();
    // ffmpeg's sine has an amplitude of an eighth, -21 dBFS; each of two channels has 3 dB less.
    const rateHz = session.line.inputRateHz;
    expect(ear.samples.length).toBeGreaterThan(rateHz);
    expect(Math.abs(tone(ear.samples.slice(rateHz / 2, rateHz)) - -21)).toBeLessThan(codec === 'opus' ? 4 : 1);
    expect(session.stats()).toMatchObject({ codec, isSecure, strangers: 0, forged: 0, junk: 0, undecodable: 0 });
  });

  it.each(cases)('is heard by it: %s, SRTP %s', async (codec, isSecure) => {
    const { session, theirPort, sdp, ourKey } = await call(codec, isSecure);
    const ffmpeg = spawn('ffmpeg', [
      '-v',
      'error',
      '-protocol_whitelist',
      'pipe,udp,rtp,srtp',
      '-f',
      'sdp',
      '-i',
      'pipe:0',
      '-t',
      '1',
      '-ar',
      '16000',
      '-ac',
      '1',
      '-f',
      's16le',
      'pipe:1',
    ]);
    const heard: Buffer[] = [];
    ffmpeg.stdout.on('data', (piece: Buffer) => heard.push(piece));
    ffmpeg.stdin.end(sdp(theirPort, ourKey));
    const closed = once(ffmpeg, 'close');
    const { outputRateHz } = session.line;
    const frame = Int16Array.from({ length: outputRateHz / 50 }, (_, i) =>
      Math.round(4_000 * Math.sin((2 * Math.PI * 500 * i) / outputRateHz)),
    );
    const isOver = closed.then(() => true);
    for (let n = 0; n < 500; n++) {
      session.line.play(frame);
      if (await Promise.race([isOver, delay(clock, 20).then(() => false)])) break;
    }
    ffmpeg.kill();
    await closed;
    await session.close();
    const bytes = Buffer.concat(heard);
    const samples = Array.from({ length: bytes.length >> 1 }, (_, n) => bytes.readInt16LE(2 * n));
    expect(samples.length).toBeGreaterThan(12_000);
    expect(Math.abs(tone(samples.slice(5_000, 11_000)) - -21.3)).toBeLessThan(1);
  });
});
