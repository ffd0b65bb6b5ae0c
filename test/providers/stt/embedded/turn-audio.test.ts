import { describe, expect, it } from 'vitest';
import { AudioHistory } from '../../../../src/audio/audio-history.js';
import { TurnAudio } from '../../../../src/providers/stt/embedded/provider.js';

/** Audio whose sample at position n is n (modulo 30000), so that positions can be read off. */
function ramp(from: number, length: number): Int16Array {
  return Int16Array.from({ length }, (_, i) => (from + i) % 30_000);
}

function pushAll(audio: TurnAudio, from: number, to: number): Int16Array[] {
  const chunks: Int16Array[] = [];
  for (let at = from; at < to; at += 320) chunks.push(...audio.push(ramp(at, Math.min(320, to - at)), at));
  return chunks;
}

const join = (chunks: readonly Int16Array[]) => chunks.flatMap((chunk) => [...chunk]);

describe('audio history', () => {
  it('keeps the newest samples, in order, across the ring’s end', () => {
    const history = new AudioHistory(1000);
    for (let at = 0; at < 2500; at += 300) history.write(ramp(at, 300), at);
    expect([history.start, history.end]).toEqual([1700, 2700]);
    expect([...history.readFrom(0)]).toEqual([...ramp(1700, 1000)]);
    expect([...history.readFrom(2690)]).toEqual([...ramp(2690, 10)]);
    expect(history.readFrom(5000)).toHaveLength(0);
  });

  it('takes a piece that is longer than itself', () => {
    const history = new AudioHistory(100);
    history.write(ramp(0, 250), 0);
    expect([...history.readFrom(0)]).toEqual([...ramp(150, 100)]);
  });

  it('starts afresh where the count jumps', () => {
    const history = new AudioHistory(1000);
    history.write(ramp(0, 500), 0);
    history.write(ramp(9000, 100), 9000);
    expect([history.start, history.end]).toEqual([9000, 9100]);
  });
});

describe('audio of a turn', () => {
  it('gives nothing outside speech', () => {
    const audio = new TurnAudio();
    expect(pushAll(audio, 0, 160_000)).toEqual([]);
    expect(audio.inTurn).toBe(false);
  });

  it('begins 350 ms before the onset and comes in chunks of 100 ms', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 16_000);
    const first = audio.speechStarted(15_000);
    const chunks = [...first, ...pushAll(audio, 16_000, 20_000)];
    expect(chunks.every((chunk) => chunk.length === 1600)).toBe(true);
    expect(join(chunks)).toEqual([...ramp(15_000 - 5600, chunks.length * 1600)]);
    expect(audio.places()(0)).toBe(9400);
  });

  it('never begins before the end of the turn before, which would be heard twice', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 16_000);
    audio.speechStarted(15_000);
    pushAll(audio, 16_000, 20_800);
    audio.speechStopped(19_500);
    audio.endTurn();
    pushAll(audio, 20_800, 22_400);
    const chunks = [...audio.speechStarted(21_800), ...pushAll(audio, 22_400, 24_000)];
    expect(join(chunks)).toEqual([...ramp(20_800, chunks.length * 1600)]);
  });

  it('begins with what there is where speech comes first thing', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 3200);
    expect(join(audio.speechStarted(800))).toEqual([...ramp(0, 3200)]);
  });

  it('gives the rest at the end of speech, padded only where there is little quiet after it', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 6400);
    audio.speechStarted(6400);
    pushAll(audio, 6400, 16_000);
    expect(audio.speechStopped(12_000).length).toBe((16_000 - 800) % 1600);
    audio.speechStarted(16_000);
    pushAll(audio, 16_000, 17_600);
    expect(audio.speechStopped(17_600)).toHaveLength(2400);
  });

  it('goes on in the same turn with the whole of a short pause', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 6400);
    audio.speechStarted(6400);
    pushAll(audio, 6400, 16_000);
    audio.speechStopped(12_800);
    pushAll(audio, 16_000, 24_000);
    const chunks = audio.speechStarted(22_000);
    expect(chunks[0]?.[0]).toBe(16_000);
    expect(join(chunks)).toEqual([...ramp(16_000, 8000)]);
  });

  it('leaves out the middle of a long pause and still knows the times', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 6400);
    const before = [...audio.speechStarted(6400), ...pushAll(audio, 6400, 16_000)].length * 1600;
    const rest = audio.speechStopped(12_800).length;
    pushAll(audio, 16_000, 80_000);
    const chunks = audio.speechStarted(79_000);
    expect(chunks[0]?.[0]).toBe((79_000 - 5600) % 30_000);
    expect(audio.places()(before + rest + 10)).toBe(79_000 - 5600 + 10);
    expect(audio.places()(100)).toBe(900);
  });

  it('begins a new turn after endTurn, at once where speech still runs', () => {
    const audio = new TurnAudio();
    pushAll(audio, 0, 6400);
    audio.speechStarted(6400);
    pushAll(audio, 6400, 16_000);
    audio.endTurn();
    expect(audio.inTurn).toBe(true);
    expect(join(pushAll(audio, 16_000, 19_200))).toEqual([...ramp(16_000, 3200)]);
    expect(audio.places()(5)).toBe(16_005);
    audio.speechStopped(19_000);
    audio.endTurn();
    expect(audio.inTurn).toBe(false);
  });

  it('is not confused by a second onset or end', () => {
    const audio = new TurnAudio();
    expect(audio.speechStopped(0)).toHaveLength(0);
    pushAll(audio, 0, 6400);
    audio.speechStarted(6400);
    expect(audio.speechStarted(6400)).toEqual([]);
    expect(pushAll(audio, 6400, 8000)).not.toEqual([]);
  });

  it('stops taking audio after two minutes of one turn', () => {
    const audio = new TurnAudio();
    audio.speechStarted(0);
    const silence = new Int16Array(16_000);
    let samples = 0;
    for (let second = 0; second < 150; second++) {
      for (const chunk of audio.push(silence, second * 16_000)) samples += chunk.length;
    }
    expect(samples).toBe(120 * 16_000);
  });
});
