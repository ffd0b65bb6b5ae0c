import { expect, it } from 'vitest';
import { OutgoingAudio } from '../../../../src/providers/stt/shared/socket-provider.js';
import { SampleMap, LeadAudio } from '../../../../src/providers/stt/shared/outgoing-audio.js';

const samples = (length: number, value = 1): Int16Array => new Int16Array(length).fill(value);

it('cuts audio into messages of one length, copied, and gives the rest when asked', () => {
  const audio = new OutgoingAudio({ sampleRateHz: 16_000, chunkMs: 50 });
  const frame = samples(320, 7);
  expect(audio.push(frame, 0)).toEqual([]);
  frame.fill(0);
  expect(audio.push(samples(320), 320)).toEqual([]);
  const [message] = audio.push(samples(1000), 640);
  expect(message?.length).toBe(1600);
  expect([message?.readInt16LE(0), message?.readInt16LE(640)]).toEqual([7, 1]);
  expect(audio.flush()?.length).toBe(80);
  expect(audio.flush()).toBeNull();
});

it('fills the last message with silence where it would be too short, which lies nowhere', () => {
  const audio = new OutgoingAudio({ sampleRateHz: 16_000, chunkMs: 50, minChunkMs: 50 });
  audio.push(samples(160), 1000);
  expect(audio.flush()?.length).toBe(1600);
  audio.push(samples(160), 1160);
  expect([audio.map.sampleAt(0), audio.map.sampleAt(50), audio.map.endSample]).toEqual([1000, 1160, 1320]);
});

it('brings audio to the vendor’s rate', () => {
  const audio = new OutgoingAudio({ sampleRateHz: 24_000, chunkMs: 20 });
  expect(audio.push(samples(320), 0).map(({ length }) => length)).toEqual([960]);
});

it('knows where a vendor’s times lie, over gaps and long ago', () => {
  const map = new SampleMap();
  expect(map.sampleAt(10)).toBe(160);
  map.sent(16_000, 1600);
  map.sent(17_600, 1600);
  map.sent(80_000, 1600);
  expect([0, 100, 199, 200, 250].map((ms) => map.sampleAt(ms))).toEqual([16_000, 17_600, 19_184, 80_000, 80_800]);
  for (let gap = 0; gap < 100; gap++) map.sent(200_000 + gap * 5000, 160);
  expect(map.sampleAt(300 + 10 * 99)).toBe(200_000 + 99 * 5000);
  expect(map.sampleAt(0)).toBeGreaterThanOrEqual(0);
});

it('keeps what lies a little before speech that is found late', () => {
  const lead = new LeadAudio(300);
  const frame = samples(320, 3);
  for (let at = 0; at < 100; at++) lead.push(frame, at * 320);
  frame.fill(0);
  const taken = lead.take(25_000);
  expect(taken[0]?.startSample).toBe(Math.floor((25_000 - 4800) / 320) * 320);
  expect(taken[0]?.samples[0]).toBe(3);
  expect(taken.at(-1)?.startSample).toBe(99 * 320);
  expect(lead.take(0)).toEqual([]);
});
