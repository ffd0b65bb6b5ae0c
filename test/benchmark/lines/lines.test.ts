import { expect, it } from 'vitest';
import { LINES, lineOpener } from '../../../src/benchmark/lines.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { Ticker } from '../../../src/base/ticker.js';

const LOUD = 200;
const tone = (length: number, rateHz: number): Int16Array =>
  Int16Array.from({ length }, (_, at) => Math.round(9_000 * Math.sin((2 * Math.PI * 400 * at) / rateHz)));

it.each(LINES)('%s: both ends hear each other, and hanging up ends the agent’s', async (name) => {
  const clock = new RealClock();
  const ticker = new Ticker(clock);
  const open = await lineOpener(name, clock);
  let said = 0;
  let heardLoud: () => void = () => undefined;
  const userHears = new Promise<void>((resolve) => (heardLoud = resolve));
  const line = await open({
    samples: tone(16_000, 16_000),
    clock,
    ticker,
    onSaid: (frames) => (said += frames),
    onHeard: (frame) => frame?.some((sample) => Math.abs(sample) > LOUD) === true && heardLoud(),
  });
  let [agentHeard, ended]: (() => void)[] = [() => undefined, () => undefined];
  const agentHears = new Promise<void>((resolve) => (agentHeard = resolve));
  const isOver = new Promise<void>((resolve) => (ended = resolve));
  const { transport } = line;
  transport.start({
    audio: (samples) => samples.some((sample) => Math.abs(sample) > LOUD) && agentHeard?.(),
    digits: () => undefined,
    text: () => undefined,
    formResult: () => undefined,
    closed: () => ended?.(),
  });
  const frame = tone(transport.outputRateHz / 50, transport.outputRateHz);
  const stop = ticker.subscribe(() => transport.play(frame));
  line.speak();
  await Promise.all([userHears, agentHears]);
  expect(said).toBeGreaterThan(0);
  stop();
  await Promise.all([line.hangUp(), isOver]);
  await line.hangUp();
});
